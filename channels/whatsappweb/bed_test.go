package whatsappweb_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappweb"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
	"github.com/parley-bot/parley/internal/store/whatsappdb"
)

func TestMain(m *testing.M) {
	whatsappwebtest.Trust()
	// A server that is silent is noticed in seconds, not in half a minute.
	whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax = time.Second, 2*time.Second
	whatsmeow.KeepAliveResponseDeadline = 2 * time.Second
	os.Exit(m.Run())
}

// bed is an adapter and the WhatsApp it talks to.
type bed struct {
	*whatsappweb.Adapter
	t    *testing.T
	fake *whatsappwebtest.Server
	ana  *whatsappwebtest.Person
	host *channeltest.Host
	path string
	sink *sink
	logs *logs
	stop func() error
}

// sink is a core in memory.
type sink struct {
	mu      sync.Mutex
	changed chan struct{}
	refuse  int           // so many
	gate    chan struct{} // where not nil, what comes is taken once it is closed
	entered chan struct{} // told of each then
	panics  int
	got     []channels.Inbound
	links   []channels.Link
	updates []channels.StatusUpdate
}

var errAway = errors.New("the store is away")

func (s *sink) note() { close(s.changed); s.changed = make(chan struct{}) }

func (s *sink) Accept(_ context.Context, in channels.Inbound) error {
	if s.gate != nil {
		s.entered <- struct{}{}
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return errAway
	}
	if s.panics > 0 {
		s.panics--
		panic("a text that must not be logged: " + in.Text)
	}
	s.got = append(s.got, in)
	s.note()
	return nil
}

func (s *sink) Linked(_ context.Context, l channels.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, l)
	s.note()
}

func (s *sink) Status(_ context.Context, u channels.StatusUpdate) error {
	if s.gate != nil {
		s.entered <- struct{}{}
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = append(s.updates, u)
	s.note()
	return nil
}

// wait waits until cond holds, which is called with the lock held.
func (s *sink) wait(cond func() bool) bool {
	limit := time.NewTimer(whatsappwebtest.Patience)
	defer limit.Stop()
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		}
	}
}

// logs keeps what was logged.
type logs struct {
	mu   sync.Mutex
	text []byte
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

var _ io.Writer = (*logs)(nil)

// newBed has a device that is linked, and nothing running.
func newBed(t *testing.T) *bed {
	t.Helper()
	b := bare(t)
	b.provision(time.Now().Add(-time.Hour))
	return b
}

// bare has no device.
func bare(t *testing.T) *bed {
	t.Helper()
	b := &bed{
		t: t, fake: whatsappwebtest.New(whatsappwebtest.Config{}), host: channeltest.NewHost(),
		path: filepath.Join(memoryDir(t), "wa.db"), sink: &sink{changed: make(chan struct{})}, logs: &logs{},
	}
	b.ana = b.fake.Person("15551110001", "200000000000001", "Ana")
	b.Adapter = b.adapter(whatsappweb.Defaults())
	t.Cleanup(func() {
		if b.stop != nil {
			if err := b.stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
		}
		b.fake.Close()
		for _, w := range b.fake.Wrong() {
			t.Errorf("the server found wrong: %s", w)
		}
		if t.Failed() {
			text := b.logs.String()
			t.Logf("the log ends so:\n%s", text[max(0, len(text)-3000):])
		}
	})
	return b
}

// memoryDir is in memory where there is such a folder: these tests are not
// about the disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "parley-whatsappweb-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (b *bed) adapter(cfg whatsappweb.Config) *whatsappweb.Adapter {
	b.t.Helper()
	log := slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := whatsappweb.New(cfg, whatsappweb.Deps{
		Host: b.host, Log: log, Name: "wa", Transport: b.fake.Transport(),
		Open: func(ctx context.Context) (whatsappweb.Store, error) {
			db, err := whatsappdb.Open(ctx, b.path, nil)
			if err != nil {
				return nil, err
			}
			return db, nil
		},
		InUse: func(err error) bool { return errors.Is(err, whatsappdb.ErrInUse) },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// provision links a device without the ceremony.
func (b *bed) provision(at time.Time) {
	b.t.Helper()
	db, err := whatsappdb.Open(b.t.Context(), b.path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	d, err := db.Device(b.t.Context())
	if err == nil {
		err = b.fake.Provision(d, at)
	}
	if err == nil {
		err = d.Save(b.t.Context())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// run runs the adapter until the test's end.
func (b *bed) run() *bed {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	ended := make(chan error, 1)
	a, s := b.Adapter, b.sink
	go func() { ended <- a.Run(ctx, s) }()
	var once sync.Once
	var result error
	b.stop = func() error {
		once.Do(func() { cancel(); result = <-ended })
		return result
	}
	return b
}

// up waits until the adapter is connected for the n-th time.
func (b *bed) up(n int) *bed {
	b.t.Helper()
	if !b.fake.WaitLogins(n) || !b.sink.wait(func() bool { return b.count(channels.LinkUp) >= n }) {
		b.t.Fatalf("not connected %d times; %d logins, now %s", n, b.fake.Logins(), b.Link())
	}
	return b
}

// count is how often a state was told; the sink's lock is held.
func (b *bed) count(state channels.LinkState) (n int) {
	for _, l := range b.sink.links {
		if l.State == state {
			n++
		}
	}
	return n
}

// told waits for a state.
func (b *bed) told(state channels.LinkState) channels.Link {
	b.t.Helper()
	var found channels.Link
	if !b.sink.wait(func() bool {
		for _, l := range b.sink.links {
			if l.State == state {
				found = l
				return true
			}
		}
		return false
	}) {
		b.t.Fatalf("state %s was never told; now %s", state, b.Link())
	}
	return found
}

// heard waits for the n-th message, from 1.
func (b *bed) heard(n int) channels.Inbound {
	b.t.Helper()
	if !b.sink.wait(func() bool { return len(b.sink.got) >= n }) {
		b.t.Fatalf("%d messages came, want %d", len(b.sink.got), n)
	}
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	return b.sink.got[n-1]
}

func (b *bed) send(text, key string) channels.Receipt {
	b.t.Helper()
	r, err := b.Send(b.t.Context(), channels.Part{Chat: channels.Chat{ID: "15551110001"}, Text: text, Key: key})
	if err != nil {
		b.t.Fatalf("Send: %v", err)
	}
	return r
}

// text is a number, as somebody writes it.
func text(n int) *waE2E.Message { return &waE2E.Message{Conversation: new(strconv.Itoa(n))} }

// until looks again and again until cond holds.
func until(cond func() bool) bool {
	limit := time.After(whatsappwebtest.Patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
	return true
}

// skipRests keeps the adapter from waiting; the waits are told.
func (b *bed) skipRests() <-chan time.Duration {
	ch := make(chan time.Duration, 64)
	b.SetRest(func(ctx context.Context, d time.Duration) error {
		select {
		case ch <- d:
		default:
		}
		t := time.NewTimer(min(d, 20*time.Millisecond))
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return ch
}
