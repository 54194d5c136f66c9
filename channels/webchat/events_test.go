package webchat_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/webchat"
)

func say(c *chat, v visitor, texts ...string) {
	for _, text := range texts {
		c.host.Append(v.at(), channels.LogEntry{From: channels.FromBot, Text: text, At: fixed()})
	}
}

func TestEvents_ResumeAndGoOnLive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path   string
		header []string
		first  string
	}{
		"from the start":         {"/chat/api/events", nil, "id: 1\n"},
		"after":                  {"/chat/api/events?after=1", nil, "id: 2\n"},
		"last event id":          {"/chat/api/events", []string{"Last-Event-ID", "1"}, "id: 2\n"},
		"last event id wins":     {"/chat/api/events?after=0", []string{"Last-Event-ID", "1"}, "id: 2\n"},
		"senseless header":       {"/chat/api/events?after=1", []string{"Last-Event-ID", "x"}, "id: 2\n"},
		"negative header":        {"/chat/api/events?after=1", []string{"Last-Event-ID", "-5"}, "id: 2\n"},
		"all read":               {"/chat/api/events?after=2", nil, "id: 3\n"},
		"ahead of what there is": {"/chat/api/events?after=3", nil, "id: 4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, webchat.Config{})
			v := c.begin("en")
			say(c, v, "one", "two")
			st := v.open(tc.path, tc.header...)
			if ct := st.res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
				t.Fatalf("Content-Type %q", ct)
			}
			if b := st.block(); b != "retry: 2000" {
				t.Errorf("begins with %q", b)
			}
			say(c, v, "three", "four")
			if got := st.event("message"); !strings.HasPrefix(got, tc.first) {
				t.Errorf("first event %q, want %q", got, tc.first)
			}
		})
	}
}

func TestEvents_LongLogInOrder(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	const n = 250 // more than two batches
	for i := range n {
		say(c, v, fmt.Sprint("text ", i+1))
	}
	st := v.open("/chat/api/events")
	for i := range n {
		if got := st.event("message"); !strings.HasPrefix(got, fmt.Sprintf("id: %d\n", i+1)) {
			t.Fatalf("event %d is %q", i+1, got)
		}
	}
}

func TestMessages_LongListSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	for range 1001 {
		say(c, v, "x")
	}
	_, body := v.call("GET", "/chat/api/messages", "")
	if n := strings.Count(body, `"event":"message"`); n != 1000 || !strings.HasSuffix(body, `"more":true}`) {
		t.Errorf("%d events, ends in %q", n, body[len(body)-20:])
	}
	if _, body = v.call("GET", "/chat/api/messages?after=1000", ""); strings.Contains(body, "more") || !strings.Contains(body, `"id":1001`) {
		t.Errorf("the rest is %s", body)
	}
}

func TestEvents_TextsThatLookLikeTheProtocol(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	say(c, v, "a\n\nid: 99\nevent: edit\ndata: {}\r\n\r\n\u2028", "next")
	st := v.open("/chat/api/events")
	for i, want := range []string{"id: 1\n", "id: 2\n"} {
		if got := st.event("message"); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 {
			t.Errorf("event %d is %q", i+1, got)
		}
	}
}

func TestEvents_TypingHasNoIDAndIsNotKept(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v, other := c.begin("en"), c.begin("en")
	st, quiet := v.open("/chat/api/events"), other.open("/chat/api/events")
	st.block()
	quiet.block()
	until := time.Now().Add(5 * time.Second)
	c.adapter.Typing(t.Context(), v.at(), until)
	got := st.event("typing")
	if strings.Contains(got, "id: ") || !strings.Contains(got, until.UTC().Format("2006-01-02T15:04:05")) {
		t.Errorf("typing is %q", got)
	}
	c.adapter.Typing(t.Context(), v.at(), time.Time{})
	if got := st.event("typing"); !strings.Contains(got, `{"until":"0001-01-01T00:00:00Z","for_ms":0}`) {
		t.Errorf("the end of typing is %q", got)
	}
	say(c, other, "for the other")
	if got := quiet.block(); !strings.Contains(got, "for the other") {
		t.Errorf("another visitor saw %q first", got)
	}
}

// The sign may come before the stream that the same page opens.
func TestEvents_TypingThatLastsIsShownToNewStreams(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	c.adapter.Typing(t.Context(), v.at(), time.Now().Add(time.Minute))
	v.open("/chat/api/events").event("typing")
	if _, err := c.adapter.Send(t.Context(), channels.Part{Chat: v.at(), Text: "x", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	say(c, v, "x")
	st := v.open("/chat/api/events")
	st.block()
	st.block()
	say(c, v, "y")
	if got := st.block(); !strings.Contains(got, `"y"`) {
		t.Errorf("after the answer a new stream was told %q", got)
	}
}

func TestEvents_HeartbeatAndLateGrowth(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{Heartbeat: time.Millisecond})
	v := c.begin("en")
	st := v.open("/chat/api/events")
	st.block()
	if got := st.block(); got != ": still here" {
		t.Errorf("an idle stream says %q", got)
	}
	// Or a proxy keeps what is said until the stream ends.
	if h := st.res.Header; h.Get("X-Accel-Buffering") != "no" || !strings.Contains(h.Get("Cache-Control"), "no-") {
		t.Errorf("headers %v", h)
	}
}

func TestEvents_BoundedPerSession(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{MaxStreams: 2})
	v, other := c.begin("en"), c.begin("en")
	first := v.open("/chat/api/events")
	first.block()
	v.open("/chat/api/events").block()
	if status, body := v.call("GET", "/chat/api/events", ""); status != http.StatusTooManyRequests {
		t.Errorf("the third stream: %d %s", status, body)
	}
	other.open("/chat/api/events").block()
	// The place is free again once the server saw the stream close.
	grown, stop := c.host.Watch(v.at())
	defer stop()
	first.stop()
	deadline := time.Now().Add(channeltest.Patience)
	for {
		say(c, v, "x") // wakes the stream that is left over
		<-grown
		st := v.open("/chat/api/events")
		if st.res.StatusCode == http.StatusOK {
			return
		}
		st.stop()
		if time.Now().After(deadline) {
			t.Fatal("a closed stream keeps its place")
		}
	}
}

func TestEvents_EndWhenTheAdapterStops_G7(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	st := v.open("/chat/api/events")
	st.block()
	// The harness's own Run is another: each stops the adapter.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.adapter.Run(ctx, nil) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if got := st.block(); got != "" {
		t.Errorf("after the stop came %q", got)
	}
	if status, _ := v.call("GET", "/chat/api/events", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a stream after the stop: %d, want 503", status)
	}
	if n := c.host.Watchers(v.at()); n != 0 {
		t.Errorf("%d watches left", n)
	}
}

func TestEvents_HeadDoesNotHang(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	if status, body := v.call("HEAD", "/chat/api/events", ""); status != 200 || body != "" {
		t.Errorf("%d %q", status, body)
	}
}

func TestSend_IsNamedByItsKey(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	id := func(chat channels.ChatID, key string) channels.MessageID {
		r, err := c.adapter.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: chat}, Text: "x", Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	first := id("a", "1")
	if id("a", "1") != first {
		t.Error("the same key has two ids")
	}
	nameless := id("a", "")
	if first == id("b", "1") || first == id("a", "2") || nameless == id("a", "") {
		t.Error("two messages share an id")
	}
}

// An answer that is being written is shown to open streams alone, and a draft
// that was too slow never replaces the whole text.
func TestEvents_A9_DraftsHaveNoIDAndAreNotKept(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	st := v.open("/chat/api/events")
	st.block()
	draft := channels.Part{Chat: v.at(), Text: "Once upon …", Draft: true}
	if err := c.adapter.Edit(t.Context(), "b-1", draft); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"b-1","text":"Once upon …","buttons":[],"draft":true}`
	if got := st.event("edit"); strings.Contains(got, "id: ") || !strings.Contains(got, want) {
		t.Errorf("the draft is %q", got)
	}
	if _, body := v.call("GET", "/chat/api/messages", ""); strings.Contains(body, "Once") {
		t.Errorf("it is kept: %s", body)
	}
	if d := c.adapter.Capabilities(v.at()).Edit.Draft; d <= 0 || d > time.Second {
		t.Errorf("drafts are shown each %v", d)
	}
}
