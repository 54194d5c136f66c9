package webchat

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// listMax is how many events one answer holds.
	listMax = 1000
	// batch is how many entries of the log a stream reads at once.
	batch = 100
	// writeTime is how long a visitor may take to receive one write.
	writeTime = 10 * time.Second
	// retryHint is what a browser waits before it connects again.
	retryHint = 2 * time.Second
)

// event is one entry of the log as clients see it: the fields of a Server-Sent
// Event, as JSON.
type event struct {
	Event string `json:"event"`
	ID    int64  `json:"id"`
	Data  any    `json:"data"`
}

type messageData struct {
	ID      channels.MessageID `json:"id"`
	From    string             `json:"from"`
	Text    string             `json:"text"`
	Buttons []channels.Button  `json:"buttons,omitempty"`
	At      time.Time          `json:"at,omitzero"`
}

type editData struct {
	// ID is the message that is edited.
	ID      channels.MessageID `json:"id"`
	Text    string             `json:"text"`
	Buttons []channels.Button  `json:"buttons"`
	// Draft is true where the text isn't whole yet; such an edit has no number.
	Draft bool `json:"draft,omitempty"`
}

type typingData struct {
	// Until is the end of the sign; the zero time takes it away.
	Until time.Time `json:"until"`
	// ForMS is the same as a length, for clients whose clock is wrong.
	ForMS int64 `json:"for_ms"`
}

func toEvent(e channels.LogEntry) event {
	if e.EditOf == "" {
		return event{"message", e.N, messageData{e.ID, e.From, e.Text, e.Buttons, e.At.UTC().Truncate(time.Millisecond)}}
	}
	buttons := e.Buttons
	if buttons == nil {
		buttons = []channels.Button{}
	}
	return event{"edit", e.N, editData{ID: e.EditOf, Text: e.Text, Buttons: buttons}}
}

// after is the number of the last event that the client has: what a stream
// resumes by, else the query's.
func after(r *http.Request, stream bool) (int64, error) {
	if id := r.Header.Get("Last-Event-ID"); stream && id != "" {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n >= 0 {
			return n, nil
		}
	}
	q := r.URL.Query().Get("after")
	if q == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(q, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("after isn't a number from 0")
	}
	return n, nil
}

// getMessages lists events. "more" is true where the list was cut: ask again
// after the last one's id.
func (a *Adapter) getMessages(w http.ResponseWriter, r *http.Request, s session) {
	n, err := after(r, false)
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, "invalid", err.Error())
		return
	}
	entries, err := a.host.Log(r.Context(), s.chat(), n, listMax+1)
	if err != nil {
		a.log.ErrorContext(r.Context(), "chat log not read", "err", err)
		failAfter(w, http.StatusServiceUnavailable, unavailableAfter, "unavailable", "the chat isn't available now")
		return
	}
	out := struct {
		Events []event `json:"events"`
		More   bool    `json:"more,omitempty"`
	}{Events: []event{}, More: len(entries) > listMax}
	for _, e := range entries[:min(len(entries), listMax)] {
		out.Events = append(out.Events, toEvent(e))
	}
	answer(w, http.StatusOK, out)
}

// getEvents streams events until the client leaves, can't keep up, or the
// adapter stops.
func (a *Adapter) getEvents(w http.ResponseWriter, r *http.Request, s session) {
	n, err := after(r, true)
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, "invalid", err.Error())
		return
	}
	select {
	case <-a.stopped:
		failAfter(w, http.StatusServiceUnavailable, unavailableAfter, "unavailable", "the chat is stopping")
		return
	default:
	}
	signs, leave, ok := a.streams.join(s.ID)
	if !ok {
		failAfter(w, http.StatusTooManyRequests, unavailableAfter, "too_many_streams", "this session has too many streams open")
		return
	}
	defer leave()
	grown, unwatch := a.host.Watch(s.chat()) // before the log is read, so that nothing falls between
	defer unwatch()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	st := &stream{w: w, ctl: http.NewResponseController(w), last: n}
	st.printf("retry: %d\n\n", retryHint.Milliseconds())

	beat := time.NewTicker(a.cfg.Heartbeat)
	defer beat.Stop()
	for {
		if err := a.catchUp(r, s, st); err != nil {
			a.log.WarnContext(r.Context(), "chat log not read", "err", err)
			return // the client comes again
		}
		if err := st.flush(); err != nil {
			return
		}
		select {
		case <-grown:
		case until := <-signs.typing:
			st.typing(until)
		case d := <-signs.draft:
			st.event("edit", "", d)
		case <-beat.C:
			// The log is read as well: a signal is a hint, the log is the truth.
			st.printf(": still here\n\n")
		case <-r.Context().Done():
			return
		case <-a.stopped:
			return
		}
	}
}

// catchUp writes what the log has and the client hasn't.
func (a *Adapter) catchUp(r *http.Request, s session, st *stream) error {
	for {
		entries, err := a.host.Log(r.Context(), s.chat(), st.last, batch)
		if err != nil {
			return fmt.Errorf("reading the log after %d: %w", st.last, err)
		}
		for _, e := range entries {
			ev := toEvent(e)
			st.event(ev.Event, strconv.FormatInt(ev.ID, 10), ev.Data)
			st.last = e.N
		}
		if len(entries) < batch {
			return nil
		}
		if err := st.flush(); err != nil {
			return err
		}
	}
}

// stream gathers what is to be written.
type stream struct {
	w    http.ResponseWriter
	ctl  *http.ResponseController
	buf  bytes.Buffer
	last int64 // the number of the last event written
}

func (st *stream) printf(format string, args ...any) { fmt.Fprintf(&st.buf, format, args...) }

// event writes one; without an id it leaves the client's position alone.
func (st *stream) event(name, id string, data any) {
	body, err := encode(data)
	if err != nil {
		return // plain structs of strings always encode
	}
	if id != "" {
		st.printf("id: %s\n", id)
	}
	st.printf("event: %s\ndata: %s\n\n", name, body)
}

func (st *stream) typing(until time.Time) {
	d := typingData{Until: until.UTC().Truncate(time.Millisecond)}
	if !until.IsZero() {
		d.ForMS = max(0, time.Until(until).Milliseconds())
	}
	st.event("typing", "", d)
}

// flush sends what was gathered. A visitor who doesn't read loses the stream,
// not the events.
func (st *stream) flush() error {
	if st.buf.Len() == 0 {
		return nil
	}
	// A writer without deadlines (a test's recorder) is written to as it is.
	_ = st.ctl.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := st.w.Write(st.buf.Bytes()); err != nil {
		return fmt.Errorf("writing to a stream: %w", err)
	}
	st.buf.Reset()
	if err := st.ctl.Flush(); err != nil {
		return fmt.Errorf("flushing a stream: %w", err)
	}
	return nil
}
