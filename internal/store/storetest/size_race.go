//go:build race

package storetest

// parkedQuestions is smaller where every memory access is watched.
const parkedQuestions = 2_000
