package store

import "context"

// HintKind says what a hint is about.
type HintKind string

// The kinds.
const (
	// HintLane: the lane Key may have work.
	HintLane HintKind = "lane"
	// HintCut: the turn of the lane Key was ended from outside.
	HintCut HintKind = "cut"
	// HintChat: the chat Key of Channel may have something to be sent.
	HintChat HintKind = "chat"
	// HintLog: the log of the chat Key grew.
	HintLog HintKind = "log"
	// HintAudit: the audit grew.
	HintAudit HintKind = "audit"
	// HintAll: anything may be; look yourself.
	HintAll HintKind = "all"
)

// Hint is what processes that share a database tell each other. It only spares
// waiting: what it says is found without it, a little later.
type Hint struct {
	Kind    HintKind `json:"k"`
	Key     string   `json:"i,omitempty"`
	Channel string   `json:"c,omitempty"`
}

// Hinter is a driver whose database others share.
type Hinter interface {
	// Hint tells the other processes, soon. It doesn't block.
	Hint(h Hint)
	// Hints calls heard for what others tell, until ctx ends.
	Hints(ctx context.Context, heard func(Hint))
}

// Hint tells other processes, where there may be any.
func (s *Store) Hint(h Hint) {
	if n, ok := s.db.(Hinter); ok {
		n.Hint(h)
	}
}

// Hints calls heard for what other processes tell, until ctx ends. Where there
// can't be any it returns at once.
func (s *Store) Hints(ctx context.Context, heard func(Hint)) {
	if n, ok := s.db.(Hinter); ok {
		n.Hints(ctx, heard)
	}
}
