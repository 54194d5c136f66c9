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
	doc := fmt.Sprintf("store: {url: %q}\nlimits: {per_user: off, workers: 256}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n",
		"sqlite://"+filepath.Join(b.TempDir(), "parley.db"))
	fsys := fstest.MapFS{
		"parley.yaml": {Data: []byte(doc)}, "model.yaml": {Data: []byte("rules:\n  - say: unused\n")},
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
