//go:build !race

package storetest

const (
	// parkedQuestions is how many expiryMany parks.
	parkedQuestions = 100_000
	// rounds of the races; each round has a chat of its own.
	rounds = 1000
	// modelSeeds is how many randomized comparisons there are.
	modelSeeds = 8
)
