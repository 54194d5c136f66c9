package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/postgres"
)

// Two processes on one PostgreSQL: whoever accepts a message works on it, one
// of them sends, and when that ends in order the other goes on.
func TestReplicas_G5_OneSendsForBoth(t *testing.T) {
	t.Parallel()
	url, audit := postgrestest.URL(t), filepath.Join(t.TempDir(), "audit.jsonl")
	yaml := withYAML("audit: {file: " + audit + "}")
	bed := func() *bed {
		b := newBed(t, withStore(url), yaml, withTools(placeOrder(returns(`1`))))
		b.model.always = waiter
		// Leases change hands and hints are waited for, which takes seconds of a
		// machine with nothing else to do.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		t.Cleanup(cancel)
		b.ctx = ctx
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("log of a process:\n%s", b.logs)
			}
		})
		return b
	}
	a := bed()
	a.say("one")
	a.wants(1, "re one") // it sends

	b := bed()
	grown, done := a.app.hub.watch("fake:" + string(a.chat.ID))
	defer done()
	b.say("one") // of the same id: delivered to the other once more
	b.say("two")
	a.soon(grown, "the other process to tell that the log grew")
	a.wants(2, "re two")
	if !a.app.outbox.Sends("fake") || b.app.outbox.Sends("fake") {
		t.Error("not exactly one sends")
	}

	// An order is asked for by one and answered at the other.
	b.say("two coffees")
	a.message(3)
	if rows, err := b.app.st.ListQuestions(t.Context(), false, 10); err != nil || len(rows) != 1 {
		t.Fatalf("%d questions, %v", len(rows), err)
	}
	b.say("yes")
	a.wants(4, "ordered")
	if got := b.fake.Texts(b.chat.ID); len(got) > 0 {
		t.Errorf("the other sent, too: %q", got)
	}

	// Those are events of the other process's turns.
	written(t, a.ctx, audit, "tool.result")
	a.stop()
	b.say("three")
	b.wants(1, "re three")
	b.stop()
	events, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"tool.confirm.requested", "tool.confirm.approved", "tool.result"} {
		if n := bytes.Count(events, []byte(`"`+kind+`"`)); n != 1 {
			t.Errorf("%s stands %d times in the audit file", kind, n)
		}
	}
	checkNobody(t, url)
}

// written waits until a file has a text.
func written(t *testing.T, ctx context.Context, file, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if got, err := os.ReadFile(file); err == nil && bytes.Contains(got, []byte(text)) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s never had %s", file, text)
		}
	}
}

// waiter answers by the request alone, so that it is no matter which process
// asks.
func waiter(ctx context.Context, req llm.Request) (llm.Response, error) {
	switch last := req.Messages[len(req.Messages)-1]; {
	case last.Role == llm.RoleTool:
		return says("ordered")(ctx, req)
	case lastText(req) == "two coffees":
		return calls("place_order", twoCoffees)(ctx, req)
	default:
		return says("re "+lastText(req))(ctx, req)
	}
}

// checkNobody expects that no lease is left.
func checkNobody(t *testing.T, url string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.Options{Reader: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var held int
	err = db.Read(t.Context(), func(tx store.Tx) error {
		_, err := tx.Row(`SELECT (SELECT count(*) FROM lane WHERE owner<>'') + (SELECT count(*) FROM account_lease WHERE lease_until>0)`, nil, &held)
		return err
	})
	if err != nil || held != 0 {
		t.Errorf("%d leases are left, error %v", held, err)
	}
}
