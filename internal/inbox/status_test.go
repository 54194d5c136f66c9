package inbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/channels"
)

func TestStatus_G5_UndeliveredIsSavedCountedAndTold(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	b := newBed(t, Config{Channels: map[string]Policy{"tg": {}}}, func(d *Deps) { d.Registerer = reg })
	b.store.fail = func(u Undelivered) (Accepted, bool) {
		if u.ID != "m1" {
			return Accepted{}, false
		}
		return Accepted{Lane: "tg:c", Wake: true, Speak: true, Resolved: &Resolved{Tool: "pay", Outcome: "cancelled"}}, true
	}
	sink, ok := b.inbox.Sink("tg", &fakeAdapter{}).(channels.StatusSink)
	if !ok {
		t.Fatal("the sink takes no reports")
	}
	cause := &channels.SendError{Class: channels.PermanentChat, Code: "131026", Err: errors.New(strings.Repeat("ö", maxCause))}
	for _, u := range []channels.StatusUpdate{
		{ID: "m1", State: channels.Delivered}, {ID: "m1", State: channels.Read}, {ID: "m1", State: "queued"},
		{Key: "tg:c#1", Chat: channels.Chat{ID: "c"}, ID: "m1", State: channels.Undelivered, Err: cause},
		{Chat: channels.Chat{ID: "c"}, ID: "m2", State: channels.Undelivered},
	} {
		if err := sink.Status(t.Context(), u); err != nil {
			t.Fatalf("%+v: %v", u, err)
		}
	}
	want := []Undelivered{
		{Channel: "tg", ChatKey: "tg:c", ID: "m1", Key: "tg:c#1", Cause: clip(cause.Error(), maxCause)},
		{Channel: "tg", ChatKey: "tg:c", ID: "m2", Cause: "the platform did not say why"},
	}
	if d := cmp.Diff(want, b.store.failed); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"wake tg:c", "speak tg tg:c"}, b.hooks); d != "" {
		t.Error(d)
	}
	err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP parley_delivery_reports_total What platforms reported of messages they had taken: delivered, read, failed, or failed of an unknown message.
# TYPE parley_delivery_reports_total counter
parley_delivery_reports_total{channel="tg",state="delivered"} 1
parley_delivery_reports_total{channel="tg",state="failed"} 1
parley_delivery_reports_total{channel="tg",state="read"} 1
parley_delivery_reports_total{channel="tg",state="unknown"} 1
`), "parley_delivery_reports_total")
	if err != nil {
		t.Error(err)
	}
}

func TestStatus_G1_UnsavedReportComesAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	sink, _ := b.inbox.Sink("tg", &fakeAdapter{}).(channels.StatusSink)
	b.store.err = ErrUnavailable
	err := sink.Status(t.Context(), channels.StatusUpdate{ID: "m1", State: channels.Undelivered})
	if r, ok := errors.AsType[*channels.RefusedError](err); !ok || r.Reason != channels.RefusedUnavailable {
		t.Errorf("disk full: %v, want it refused as unavailable", err)
	}
	b.store.err = errors.New("broken")
	if err := sink.Status(t.Context(), channels.StatusUpdate{ID: "m1", State: channels.Undelivered}); err == nil {
		t.Error("a report that wasn't saved was taken")
	}
}
