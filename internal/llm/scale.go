package llm

// EstimateRequest is EstimateTokens of all that a request holds.
func EstimateRequest(req Request) int {
	n := 0
	for _, s := range req.System {
		n += perMessage + EstimateTokens(s)
	}
	for _, m := range req.Messages {
		n += estimateMessage(m)
	}
	for _, c := range req.Tools {
		n += perMessage + EstimateTokens(c.Name) + EstimateTokens(c.Description) + EstimateTokens(string(c.Schema))
	}
	return n
}

const (
	// scaleLeast is the shortest request that is learned from, in estimated
	// tokens: in shorter ones what an API adds weighs too much.
	scaleLeast = 200
	// scaleWeight is that of the newest request.
	scaleWeight = 0.2
	// scaleMost bounds what is believed of one: a proxy may count anything.
	scaleMost = 3
)

// scale is how many tokens a model counts for one that EstimateTokens does,
// over its last requests; 0 before the first.
//
// It only ever makes a history shorter (see [Chain.Scale]): a count that is too
// low may just mean that the server left out what it had cached.
type scale float64

func (s *scale) learn(estimated, counted int) {
	if estimated < scaleLeast || counted <= 0 {
		return
	}
	now := min(float64(counted)/float64(estimated), scaleMost)
	if *s == 0 {
		*s = scale(now)
		return
	}
	*s += scale(scaleWeight * (now - float64(*s)))
}

// Scale is how many tokens the models count for one that EstimateTokens does,
// at least 1: the highest of the chain's models, by what they said of their
// last requests, since a history must fit whichever answers.
func (c *Chain) Scale() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 1.0
	for _, s := range c.scales {
		most = max(most, float64(s))
	}
	return most
}

func (c *Chain) learn(n int, req Request, counted int) {
	if counted <= 0 {
		return
	}
	estimated := EstimateRequest(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scales[n].learn(estimated, counted)
}
