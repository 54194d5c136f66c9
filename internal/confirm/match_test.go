package confirm

import (
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
)

// open is a pending question of Ana's that was shown, in a private chat.
func open(change ...func(*Saved)) Saved {
	w := Saved{
		Wait:  Wait{Token: "t", Lane: "tg:c", ChatKey: "tg:c", Requester: "ana", Solo: true, Said: noon},
		State: Pending, Delivered: noon.Add(time.Minute), Expires: noon.Add(time.Hour), MessageID: "q",
	}
	for _, c := range change {
		c(&w)
	}
	return w
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func inGroup(w *Saved) { w.Solo = false }

// Platforms deliver again, for days, what was not acknowledged: a yes that was
// written before what led to the question was not meant for it.
func TestMatchText_B27_WrittenBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	var zero time.Time
	for name, tt := range map[string]struct {
		wait    Saved
		written time.Time
		class   Class
		replyTo channels.MessageID
		routed  bool
		want    Outcome // "": it answers nothing
	}{
		"hours before":                    {open(), noon.Add(-3 * time.Hour), Yes, "", true, Replied},
		"a no hours before":               {open(), noon.Add(-3 * time.Hour), No, "", true, Replied},
		"a second before":                 {open(), noon.Add(-time.Second), Yes, "", true, Replied},
		"within the same second":          {open(), noon, Yes, "", true, Approved},
		"in another zone":                 {open(), noon.In(time.FixedZone("", -5*3600)), Yes, "", true, Approved},
		"after":                           {open(), noon.Add(time.Second), No, "", true, Denied},
		"the platform tells no time":      {open(), zero, Yes, "", true, Approved},
		"the question is of before":       {open(func(w *Saved) { w.Said = zero }), noon.Add(-3 * time.Hour), Yes, "", true, Approved},
		"not shown yet":                   {open(func(w *Saved) { w.Delivered = zero }), noon, Yes, "", true, Replied},
		"old, as a reply to the question": {open(), noon.Add(-time.Second), Yes, "q", true, Approved},
		"old, as a reply to another":      {open(), noon.Add(-time.Second), Yes, "other", true, Replied},
		"old, in a group":                 {open(inGroup), noon.Add(-time.Second), Yes, "", true, Replied},
		"old, in a group, to somebody":    {open(inGroup), noon.Add(-time.Second), Yes, "", false, ""},
		"new, in a group, to somebody":    {open(inGroup), noon, Yes, "", false, Approved},
	} {
		_, ans, ok := MatchText([]Saved{tt.wait}, Attempt{
			Lane: "tg:c", From: "ana", Text: "sí", Class: tt.class, ReplyTo: tt.replyTo, Routed: tt.routed,
			At: noon.Add(10 * time.Minute), Written: tt.written,
		})
		if ok != (tt.want != "") || ans.Outcome != tt.want || (tt.want == Replied) != (ans.Reply != "") {
			t.Errorf("%s: %v %+v, want %q", name, ok, ans, tt.want)
		}
		if ok && !ans.Written.Equal(tt.written) {
			t.Errorf("%s: written %v", name, ans.Written)
		}
	}
}
