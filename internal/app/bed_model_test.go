package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-bot/parley/internal/llm"
)

// model answers by a list, one entry a call, and keeps what it was asked.
type model struct {
	mu   sync.Mutex
	next []answer
	seen []llm.Request
	// always answers when the list is empty.
	always answer
	// scale is what Scale gives; it is set before the bot is talked to.
	scale float64
	// asked has a signal for each request.
	asked chan struct{}
}

func newModel() *model { return &model{asked: make(chan struct{}, 1000)} }

// incarnation is the model as one start of the bot sees it: a bot that has
// crashed takes no answers that are meant for the next one.
type incarnation struct {
	*model
	dead *atomic.Bool
}

// Generate implements turn.Model.
func (i incarnation) Generate(ctx context.Context, req llm.Request, onText func(string)) (llm.Response, error) {
	if i.dead.Load() {
		<-ctx.Done()
		return llm.Response{}, &llm.Error{Class: llm.Cancelled, Err: ctx.Err()}
	}
	return i.model.Generate(ctx, req, onText)
}

// Scale is how many tokens the model counts for an estimated one.
func (m *model) Scale() float64 { return m.scale }

type answer func(ctx context.Context, req llm.Request) (llm.Response, error)

// then adds answers.
func (m *model) then(answers ...answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = append(m.next, answers...)
}

// Generate implements turn.Model.
func (m *model) Generate(ctx context.Context, req llm.Request, onText func(string)) (llm.Response, error) {
	m.mu.Lock()
	// A deep copy: what a model was told must not change afterwards.
	var copied llm.Request
	if b, err := json.Marshal(req); err == nil {
		_ = json.Unmarshal(b, &copied)
	}
	m.seen = append(m.seen, copied)
	var a answer
	if len(m.next) > 0 {
		a, m.next = m.next[0], m.next[1:]
	} else {
		a = m.always
	}
	m.mu.Unlock()
	m.asked <- struct{}{}
	if a == nil {
		return llm.Response{Text: "(nothing more to say)", Stop: llm.StopEnd}, nil
	}
	return a(context.WithValue(ctx, onTextKey{}, onText), req)
}

// onTextKey is where an answer finds what the text is shown by as it grows.
type onTextKey struct{}

// writing is an answer that a test writes piece by piece.
type writing struct {
	texts chan string   // the whole text so far, each time
	taken chan struct{} // has a signal after each
	// streamed is whether somebody wanted to see it.
	streamed chan bool
}

func newWriting() *writing {
	return &writing{texts: make(chan string), taken: make(chan struct{}), streamed: make(chan bool, 100)}
}

// then is the answer: it ends with what end gives once texts is closed.
func (w *writing) then(end answer) answer {
	return func(ctx context.Context, req llm.Request) (llm.Response, error) {
		onText, _ := ctx.Value(onTextKey{}).(func(string))
		w.streamed <- onText != nil
		for {
			select {
			case text, more := <-w.texts:
				if !more {
					return end(ctx, req)
				}
				if onText != nil {
					onText(text)
				}
				w.taken <- struct{}{}
			case <-ctx.Done():
				return llm.Response{}, &llm.Error{Class: llm.Cancelled, Err: ctx.Err()}
			}
		}
	}
}

// write gives one text, and waits until it was taken.
func (b *bed) write(w *writing, text string) {
	b.t.Helper()
	select {
	case w.texts <- text:
		b.soon(w.taken, "the text to be taken")
	case <-b.ctx.Done():
		b.t.Fatalf("writing %q: %v\n%s", text, b.ctx.Err(), b.logs)
	}
}

// requests are what the model was asked so far.
func (m *model) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]llm.Request(nil), m.seen...)
}

// results are what the last request told of calls, in order.
func (m *model) results() []llm.Result {
	reqs := m.requests()
	if len(reqs) == 0 {
		return nil
	}
	for _, m := range slices.Backward(reqs[len(reqs)-1].Messages) {
		if m.Role == llm.RoleTool {
			return m.Results
		}
	}
	return nil
}

// says is a final text.
func says(text string) answer {
	return func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{Text: text, Stop: llm.StopEnd}, nil
	}
}

// calls asks for tools: name, arguments, name, arguments, and so on.
func calls(nameArgs ...string) answer {
	return func(context.Context, llm.Request) (llm.Response, error) {
		r := llm.Response{Stop: llm.StopCalls}
		for i := 0; i < len(nameArgs); i += 2 {
			r.Calls = append(r.Calls, llm.Call{ID: fmt.Sprint("api-", i), Name: nameArgs[i], Args: nameArgs[i+1]})
		}
		return r, nil
	}
}

// fails is a model that can't answer.
func fails(class llm.Class) answer {
	return func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Class: class, Provider: "test", Model: "m", Err: fmt.Errorf("as the test wants it")}
	}
}

// holds gives a's answer once release is closed.
func holds(release <-chan struct{}, a answer) answer {
	return func(ctx context.Context, req llm.Request) (llm.Response, error) {
		select {
		case <-release:
			return a(ctx, req)
		case <-ctx.Done():
			return llm.Response{}, &llm.Error{Class: llm.Cancelled, Err: ctx.Err()}
		}
	}
}

// lastText is what the model was asked at last.
func lastText(req llm.Request) string { return req.Messages[len(req.Messages)-1].Text }

// lines are the transcript of the n-th request (from 1), a line a message.
func (m *model) lines(n int) (out []string) {
	for _, msg := range m.requests()[n-1].Messages {
		out = append(out, string(msg.Role)+": "+msg.Text)
	}
	return out
}
