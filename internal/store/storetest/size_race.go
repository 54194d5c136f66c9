//go:build race

package storetest

// Less of everything where every memory access is watched.
const (
	parkedQuestions = 2_000
	rounds          = 250
	modelSeeds      = 3
)
