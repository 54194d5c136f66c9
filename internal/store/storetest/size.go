//go:build !race

package storetest

// parkedQuestions is how many expiryMany parks.
const parkedQuestions = 100_000
