//go:build unix

package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// inproc is a platform in memory that does nothing but hand messages over.
type inproc struct {
	sink    chan channels.Sink
	mu      sync.Mutex
	waiting map[channels.ChatID]chan channels.Part
}

func newInproc() *inproc {
	return &inproc{sink: make(chan channels.Sink, 1), waiting: map[channels.ChatID]chan channels.Part{}}
}

func (p *inproc) Capabilities(channels.Chat) channels.Capabilities {
	return channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 3}, Idempotent: true}
}

func (p *inproc) Run(ctx context.Context, sink channels.Sink) error {
	p.sink <- sink
	<-ctx.Done()
	return nil
}

func (p *inproc) Send(_ context.Context, part channels.Part) (channels.Receipt, error) {
	p.chat(part.Chat.ID) <- part
	return channels.Receipt{ID: "m"}, nil
}

func (p *inproc) chat(id channels.ChatID) chan channels.Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.waiting[id]
	if c == nil {
		c = make(chan channels.Part, 16)
		p.waiting[id] = c
	}
	return c
}

type modelFunc func(ctx context.Context, req llm.Request) (llm.Response, error)

func (f modelFunc) Generate(ctx context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	return f(ctx, req)
}

// benchBot starts a whole bot on an in-process channel.
func benchBot(b *testing.B, model modelFunc, tools ...tool.Tool) (*inproc, channels.Sink) {
	b.Helper()
	p := newInproc()
	doc := fmt.Sprintf("store: {url: %q}\nlimits: {per_user: off, workers: 256}\ntools: {scripts: [tools.ts]}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n",
		"sqlite://"+filepath.Join(b.TempDir(), "parley.db"))
	fsys := fstest.MapFS{
		"parley.yaml": {Data: []byte(doc)}, "model.yaml": {Data: []byte("rules:\n  - say: unused\n")},
		"tools.ts": {Data: []byte("export const tools = { spin: { description: 'Spins.', timeout: '10s', handler: () => { for (;;) {} } } }\n")},
	}
	cfg, err := config.LoadFS(fsys, "parley.yaml", Kinds())
	if err != nil {
		b.Fatal(err)
	}
	bot, err := Build(b.Context(), cfg, Options{
		Log: slog.New(slog.DiscardHandler), Only: []string{""}, Model: model, Tools: tools,
		Channels: map[string]func(channelEnv) (channels.Adapter, error){"bench": Extra(p)},
	})
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(b.Context(), bot, false)
	if err != nil {
		b.Fatal(err)
	}
	if err := a.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return p, <-p.sink
}

func benchMessage(chat string, id int64, text string) channels.Inbound {
	return channels.Inbound{
		Kind: channels.KindMessage, ID: channels.MessageID(fmt.Sprint(id)), Chat: channels.Chat{ID: channels.ChatID(chat)},
		From: channels.User{ID: channels.UserID(chat), Lang: "en"}, Text: text,
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPlainTurns sends messages from 200 chats, each its next when it has
// its answer, to a model that takes no time.
func BenchmarkPlainTurns(b *testing.B) {
	p, sink := benchBot(b, func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{Text: "Here you are.", Stop: llm.StopEnd}, nil
	})
	var n atomic.Int64
	b.ResetTimer()
	start, cpu := time.Now(), cpuTime()
	var wg sync.WaitGroup
	for c := range 200 {
		wg.Go(func() {
			chat := fmt.Sprintf("chat%d", c)
			replies := p.chat(channels.ChatID(chat))
			for {
				i := n.Add(1)
				if i > int64(b.N) {
					return
				}
				if err := sink.Accept(b.Context(), benchMessage(chat, i, "two coffees and a croissant please")); err != nil {
					b.Error(err)
					return
				}
				<-replies
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "turns/s")
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1000/float64(b.N), "cpu-ms/turn")
}

// BenchmarkConfirmedOrder is question, press, tool and reply of one chat at a
// time: all of it is added time, for model and tool take none.
func BenchmarkConfirmedOrder(b *testing.B) {
	order := placeOrder(returns(`{"id":"P-1"}`))
	p, sink := benchBot(b, func(_ context.Context, req llm.Request) (llm.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
			return llm.Response{Text: "Placed.", Stop: llm.StopEnd}, nil
		}
		return llm.Response{Stop: llm.StopCalls, Calls: []llm.Call{{Name: "place_order", Args: twoCoffees}}}, nil
	}, order)
	took := make([]time.Duration, 0, b.N)
	id := int64(0)
	for b.Loop() {
		id++
		chat := fmt.Sprintf("chat%d", id%50)
		replies := p.chat(channels.ChatID(chat))
		start := time.Now()
		if err := sink.Accept(b.Context(), benchMessage(chat, id, "two coffees")); err != nil {
			b.Fatal(err)
		}
		question := <-replies
		id++
		press := benchMessage(chat, id, "")
		press.Kind, press.Button = channels.KindPress, question.Buttons[0].ID
		if err := sink.Accept(b.Context(), press); err != nil {
			b.Fatal(err)
		}
		<-replies
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkOthers measures chats whose turns are plain: first alone, then while
// one tool of another chat hangs for 10 s and one script loops for as long.
// p99-ratio is what they cost everybody else.
func BenchmarkOthers(b *testing.B) {
	hang := plain("hang", &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		timer := time.NewTimer(10 * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return tool.Result{}, nil
	}})
	p, sink := benchBot(b, func(_ context.Context, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.RoleUser && (last.Text == "hang" || last.Text == "spin") {
			return llm.Response{Stop: llm.StopCalls, Calls: []llm.Call{{Name: last.Text}}}, nil
		}
		return llm.Response{Text: "Here you are.", Stop: llm.StopEnd}, nil
	}, hang)
	var id atomic.Int64
	alone := others(b, p, sink, &id)
	for _, text := range []string{"hang", "spin"} {
		if err := sink.Accept(b.Context(), benchMessage(text, id.Add(1), text)); err != nil {
			b.Fatal(err)
		}
	}
	beside := others(b, p, sink, &id)
	b.ReportMetric(float64(alone.Microseconds())/1000, "p99-alone-ms")
	b.ReportMetric(float64(beside.Microseconds())/1000, "p99-beside-ms")
	b.ReportMetric(float64(beside)/float64(alone), "p99-ratio")
}

// others runs plain turns of 20 chats for four seconds, 200 a second together,
// and returns the 99th percentile of the time to the answer.
func others(b *testing.B, p *inproc, sink channels.Sink, id *atomic.Int64) time.Duration {
	b.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(b.Context(), 4*time.Second)
	defer cancel()
	for c := range 20 {
		wg.Go(func() {
			chat := fmt.Sprintf("other%d", c)
			replies := p.chat(channels.ChatID(chat))
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				start := time.Now()
				if err := sink.Accept(b.Context(), benchMessage(chat, id.Add(1), "a coffee")); err != nil {
					b.Error(err)
					return
				}
				<-replies
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}
