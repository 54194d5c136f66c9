package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

func keepTests() []test {
	return []test{
		{"kv_versions_and_deletion", kvVersions},
		{"kv_list_by_prefix", kvList},
		{"state_swap", stateSwap},
		{"state_swap_has_one_winner", stateRace},
		{"D2_audit_rows_and_cursors", auditRows},
		{"account_lease_changes_hands", accountLease},
		{"account_lease_goes_to_one_of_many", accountLeaseRace},
	}
}

// save writes values as the result of a call.
func (b *bench) save(writes ...tool.Write) {
	b.Helper()
	p := alone(fmt.Sprint("kv", b.id()))
	b.say(p, "ana", "save", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: w.id + ".1", Tool: "save"}}, w.id+".1"
	b.commit(w, st)
	err := b.Store.Result(b.Context(), w.Lane, turn.Result{
		TurnID: w.id, CallID: w.id + ".1", State: turn.CallSucceeded, Journal: json.RawMessage(`{}`), Writes: writes,
	})
	if err != nil {
		b.Fatalf("saving: %v", err)
	}
	b.end(w, "")
}

func kvVersions(b *bench) {
	get := func(scope tool.Scope, want string, wantVersion int64) {
		b.Helper()
		v, version, err := b.Store.Get(b.Context(), scope, "k")
		if string(v) != want || version != wantVersion || err != nil {
			b.Errorf("got %q, version %d, error %v; want %q, version %d", v, version, err, want, wantVersion)
		}
	}
	get("bot", "", 0)
	b.save(tool.Write{Scope: "bot", Key: "k", Value: json.RawMessage(`1`)}, tool.Write{Scope: "bot", Key: "k", Value: json.RawMessage(`{"a":2}`)})
	get("bot", `{"a":2}`, 2)
	get("chat:x", "", 0)
	b.save(tool.Write{Scope: "bot", Key: "k"})
	v, version, err := b.Store.Get(b.Context(), "bot", "k")
	if v != nil || version != 3 || err != nil {
		b.Errorf("deleted: %s, version %d, error %v", v, version, err)
	}
	b.save(tool.Write{Scope: "bot", Key: "k", Value: json.RawMessage(`3`), IfVersion: &version})
	get("bot", `3`, 4)
}

func kvList(b *bench) {
	var writes []tool.Write
	for _, k := range []string{"b/1", "a", "b/2", "b", "b0", "c", "b/é", "b/\x7f", "B/1", "%", "b/_"} {
		writes = append(writes, tool.Write{Scope: "bot", Key: k, Value: json.RawMessage(`1`)})
	}
	writes = append(writes, tool.Write{Scope: "bot", Key: "b/2"}, tool.Write{Scope: "other", Key: "b/3", Value: json.RawMessage(`1`)})
	b.save(writes...)
	for prefix, want := range map[string][]string{
		"b/": {"b/1", "b/_", "b/\x7f", "b/é"}, "b/1": {"b/1"}, "zzz": nil, "%": {"%"},
		"": {"%", "B/1", "a", "b", "b/1", "b/_", "b/\x7f", "b/é", "b0", "c"},
	} {
		got, err := b.Store.List(b.Context(), "bot", prefix)
		if err != nil || !slices.Equal(got, want) {
			b.Errorf("prefix %q: %q, want %q, error %v", prefix, got, want, err)
		}
	}
	writes = nil
	for i := range 1100 {
		writes = append(writes, tool.Write{Scope: "many", Key: fmt.Sprintf("k%04d", i), Value: json.RawMessage(`1`)})
	}
	b.save(writes...)
	got, err := b.Store.List(b.Context(), "many", "k")
	if err != nil || len(got) != 1000 || got[999] != "k0999" {
		b.Errorf("%d keys, %v", len(got), err)
	}
}

func stateSwap(b *bench) {
	swap := func(account string, old, value []byte, want bool) {
		b.Helper()
		ok, err := b.Store.StateSwap(b.Context(), account, "offset", old, value)
		if ok != want || err != nil {
			b.Errorf("swap %q to %q: %v, %v", old, value, ok, err)
		}
	}
	get := func(want []byte) {
		b.Helper()
		v, err := b.Store.StateGet(b.Context(), "acc", "offset")
		if d := cmp.Diff(want, v); d != "" || err != nil {
			b.Errorf("%s, error %v", d, err)
		}
	}
	get(nil)
	swap("acc", []byte("1"), []byte("2"), false)
	swap("acc", nil, []byte("1"), true)
	swap("acc", nil, []byte("2"), false)
	swap("other", nil, []byte("x"), true)
	swap("acc", []byte("1"), []byte{0, 255}, true)
	get([]byte{0, 255})
	swap("acc", []byte{0, 255}, []byte{}, true)
	get([]byte{})
	swap("acc", nil, []byte("2"), false) // an empty value is there
	swap("acc", []byte{}, []byte("3"), true)
	swap("acc", []byte("2"), nil, false)
	swap("acc", []byte("3"), nil, true)
	get(nil)
	swap("acc", nil, nil, true)
	get(nil)
}

func stateRace(b *bench) {
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			ok, err := b.Store.StateSwap(b.Context(), "acc", "k", nil, []byte(fmt.Sprint(i)))
			if err != nil {
				b.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	check(b, "winners", won.Load(), 1)
}

func auditRows(b *bench) {
	for i := range 5 {
		if err := b.Store.Late(b.Context(), "lane", audit.Event{At: int64(i), Type: audit.ToolResult, Error: fmt.Sprint(i)}); err != nil {
			b.Fatal(err)
		}
	}
	cursor, err := b.Store.Cursor(b.Context(), "file")
	if cursor != 0 || err != nil {
		b.Errorf("cursor %d, %v", cursor, err)
	}
	var got []string
	for {
		rows, err := b.Store.After(b.Context(), cursor, 2)
		if err != nil {
			b.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			var e audit.Event
			if err := json.Unmarshal(r.Event, &e); err != nil || r.ID <= cursor {
				b.Fatalf("row %d after %d: %v", r.ID, cursor, err)
			}
			got, cursor = append(got, e.Error), r.ID
		}
		if err := b.Store.SetCursor(b.Context(), "file", cursor); err != nil {
			b.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"0", "1", "2", "3", "4"}, got); d != "" {
		b.Error(d)
	}
	b.reopen(true)
	saved, err := b.Store.Cursor(b.Context(), "file")
	if saved != cursor || err != nil {
		b.Errorf("cursor %d, want %d, error %v", saved, cursor, err)
	}
}

// accountLeaseRace lets many processes ask at once, again and again.
func accountLeaseRace(b *bench) {
	const owners, rounds = 8, 5
	for round := range rounds {
		var won atomic.Int32
		var asking sync.WaitGroup
		for i := range owners {
			asking.Go(func() {
				fence, ok, err := b.Store.LeaseAccount(b.Context(), "telegram", "ingest", fmt.Sprint("owner ", round, i))
				switch {
				case err != nil:
					b.Errorf("owner %d: %v", i, err)
				case ok:
					won.Add(1)
					if fence != int64(round+1) {
						b.Errorf("round %d: fence %d, want %d", round, fence, round+1)
					}
				}
			})
		}
		asking.Wait()
		if n := won.Load(); n != 1 {
			b.Errorf("round %d: %d owners hold the lease", round, n)
		}
		b.Advance(30 * time.Second)
	}
}

func accountLease(b *bench) {
	lease := func(owner string, wantFence int64, want bool) {
		b.Helper()
		fence, ok, err := b.Store.LeaseAccount(b.Context(), "telegram", "ingest", owner)
		if ok != want || fence != wantFence || err != nil {
			b.Errorf("%s: fence %d, ok %v, error %v", owner, fence, ok, err)
		}
	}
	lease("a", 1, true)
	lease("b", 1, false)
	b.Advance(20 * time.Second)
	lease("a", 1, true) // renewed
	b.Advance(20 * time.Second)
	lease("b", 1, false)
	b.Advance(10 * time.Second)
	lease("b", 2, true)
	lease("a", 2, false)
	if err := b.Store.ReleaseAccount(b.Context(), "telegram", "ingest", "a"); err != nil {
		b.Error(err)
	}
	lease("a", 2, false) // not its own to release
	if err := b.Store.ReleaseAccount(b.Context(), "telegram", "ingest", "b"); err != nil {
		b.Error(err)
	}
	lease("a", 3, true)
	_, ok, err := b.Store.LeaseAccount(b.Context(), "telegram", "send", "b")
	if !ok || err != nil {
		b.Errorf("another role: %v, %v", ok, err)
	}
}
