package app

import (
	"context"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/tool"
)

// A stop breaks off the call that runs, whose outcome is then unknown; the one
// behind it is not begun, and runs after the restart.
func TestDurable_G7_AStopBeginsNothing(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	first := &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		return tool.Stopped(ctx, 0), nil
	}}
	second := returns(`"done"`)
	unsafe := func(name string, s *spy) tool.Tool {
		tl := plain(name, s)
		tl.Effect = tool.Unsafe
		return tl
	}
	b := newBed(t, withTools(unsafe("first", first), unsafe("second", second)))
	b.model.then(calls("first", "", "second", ""), says("so be it"))
	b.say("go")
	<-began
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := b.app.Stop(ctx); err != nil {
		t.Log("stopping:", err)
	}
	if n := second.count(); n != 0 {
		t.Fatalf("the second call was begun %d times while the bot stopped", n)
	}
	b.app = nil
	b.start()
	b.wants(1, "so be it")
	if first.count() != 1 || second.count() != 1 {
		t.Fatalf("first ran %d times, second %d, want once each", first.count(), second.count())
	}
	rs := b.model.results()
	if len(rs) != 2 || field(t, rs[0].Content, "executed") != "unknown" || rs[1].Content != "done" {
		t.Fatalf("results %+v", rs)
	}
}
