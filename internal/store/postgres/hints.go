package postgres

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-bot/parley/internal/store"
)

const (
	hintChannel = "parley"
	// hintBytes is what one NOTIFY may hold, below the server's 8,000.
	hintBytes = 7500
	// hintMax bounds what waits to be told; beyond, all are told to look.
	hintMax = 1000
)

// hints tells other processes what has work. One NOTIFY is under way at a
// time, with what came since the last: the server lets only one transaction
// with a NOTIFY commit at once, and so none of the store's has one. Hints may
// be lost.
type hints struct {
	db   *DB
	stop context.CancelFunc
	ctx  context.Context
	done sync.WaitGroup

	mu      sync.Mutex
	waiting map[store.Hint]struct{}
	more    chan struct{}
}

// note is a NOTIFY's payload.
type note struct {
	From string       `json:"f"`
	Keys []store.Hint `json:"k,omitempty"` // none: look yourself
}

func newHints(db *DB) *hints {
	h := &hints{db: db, waiting: map[store.Hint]struct{}{}, more: make(chan struct{}, 1)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.done.Go(h.run)
	return h
}

func (h *hints) close() {
	h.stop()
	h.done.Wait()
}

// Hint implements store.Hinter.
func (db *DB) Hint(hint store.Hint) {
	h := db.hints
	h.mu.Lock()
	if len(h.waiting) <= hintMax {
		h.waiting[hint] = struct{}{}
	}
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *hints) run() {
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.more:
		}
		h.mu.Lock()
		all := h.waiting
		h.waiting = map[store.Hint]struct{}{}
		h.mu.Unlock()
		for _, payload := range h.payloads(all) {
			if err := h.tell(payload); err != nil && h.ctx.Err() == nil {
				h.db.log.Debug("other processes couldn't be told of work, they will find it", "err", err)
				break
			}
		}
	}
}

// payloads packs hints.
func (h *hints) payloads(all map[store.Hint]struct{}) (out []string) {
	pack := func(keys []store.Hint) {
		b, err := json.Marshal(note{From: h.db.owner, Keys: keys})
		if err == nil {
			out = append(out, string(b))
		}
	}
	if len(all) > hintMax {
		pack(nil)
		return out
	}
	var keys []store.Hint
	size := 100
	for hint := range all {
		// Each byte may take six as JSON.
		cost := 6*(len(hint.Key)+len(hint.Channel)) + 40
		if cost > hintBytes/2 {
			pack(nil)
			continue
		}
		if size+cost > hintBytes {
			pack(keys)
			keys, size = nil, 100
		}
		keys = append(keys, hint)
		size += cost
	}
	if len(keys) > 0 {
		pack(keys)
	}
	return out
}

// tell commits a NOTIFY, which needn't survive anything.
func (h *hints) tell(payload string) error {
	return h.db.pool.with(h.ctx, func(ctx context.Context, c *conn) error {
		_, err := c.ask(ctx, `begin; set local synchronous_commit=off`)
		if err == nil {
			_, err = c.pc.ExecParams(ctx, `select pg_notify($1, $2)`, [][]byte{[]byte(hintChannel), []byte(payload)}, nil, nil, nil).Close()
		}
		if err == nil {
			_, err = c.ask(ctx, `commit`)
		}
		if err != nil {
			h.db.leave(c)
		}
		return err
	})
}

// Hints implements store.Hinter. It has a connection of its own, and makes it
// anew when it is lost.
func (db *DB) Hints(ctx context.Context, heard func(store.Hint)) {
	for fails := 0; ctx.Err() == nil; {
		began := time.Now()
		err := db.listen(ctx, heard)
		if ctx.Err() != nil {
			return
		}
		if fails++; time.Since(began) > time.Minute {
			fails = 1
		}
		db.log.Warn("hints of other processes aren't heard for a while, work is found by looking for it", "err", err)
		wait := min(30*time.Second, 250*time.Millisecond<<min(fails, 8))
		if !pass(ctx, wait-time.Duration(rand.Int64N(int64(wait)/5))) {
			return
		}
	}
}

func (db *DB) listen(ctx context.Context, heard func(store.Hint)) error {
	var told []note
	cfg := db.pool.cfg.Copy()
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		var said note
		if json.Unmarshal([]byte(n.Payload), &said) == nil && said.From != db.owner {
			told = append(told, said)
		}
	}
	c, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.Background(), connectTime)
		defer cancel()
		_ = c.Close(bye) // it is of no use any more
		select {
		case <-c.CleanupDone():
		case <-bye.Done():
		}
	}()
	if _, err := c.Exec(ctx, "listen "+hintChannel).ReadAll(); err != nil {
		return err
	}
	// What came before was missed.
	heard(store.Hint{Kind: store.HintAll})
	for {
		if err := c.WaitForNotification(ctx); err != nil {
			return err
		}
		for _, said := range told {
			if len(said.Keys) == 0 {
				heard(store.Hint{Kind: store.HintAll})
			}
			for _, hint := range said.Keys {
				heard(hint)
			}
		}
		told = told[:0]
	}
}
