package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
)

// Config are the operator's settings and the limits of a request. A zero
// limit is its default.
type Config struct {
	// Listen is host:port, IPv6 hosts in brackets; port 0 is any free one.
	Listen string
	// AdminToken is the bearer token of the API; empty turns it off.
	AdminToken secret.String
	// MetricsListen moves /metrics to a listener of its own; "" is off.
	MetricsListen string
	// TrustedProxies are the peers whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix

	HeaderTimeout time.Duration // to read the headers; 10s
	ReadTimeout   time.Duration // to read a whole request; 30s
	WriteTimeout  time.Duration // to answer, streams excepted; 60s
	IdleTimeout   time.Duration // between requests; 2m
	MaxHeader     int           // bytes of headers; 32 KiB
	MaxBody       int64         // bytes of a body; 1 MiB
}

func (c Config) withDefaults() Config {
	orDur := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	orDur(&c.HeaderTimeout, 10*time.Second)
	orDur(&c.ReadTimeout, 30*time.Second)
	orDur(&c.WriteTimeout, time.Minute)
	orDur(&c.IdleTimeout, 2*time.Minute)
	if c.MaxHeader <= 0 {
		c.MaxHeader = 32 << 10
	}
	if c.MaxBody <= 0 {
		c.MaxBody = 1 << 20
	}
	return c
}

// Page is a handler for everything below a prefix, which it sees unstripped.
type Page struct {
	Prefix string // starts and ends in a slash
	http.Handler
}

// Endpoint is one call of the API: below /api/v1, with the bearer token.
type Endpoint struct {
	Method string
	// Path begins with a slash, such as /reload.
	Path string
	http.Handler
}

// Deps is what is served.
type Deps struct {
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Metrics serves /metrics; nil is none.
	Metrics http.Handler
	// Ready tells the state of the process within a few seconds; nil is
	// always ready.
	Ready func(ctx context.Context) Readiness
	// Webhooks maps a channel's name to its handler.
	Webhooks map[string]http.Handler
	Pages    []Page
	API      []Endpoint
}

// Server is the listeners and what is served on them. Its life is New,
// Listen, Serve, Stop.
type Server struct {
	cfg     Config
	deps    Deps
	metrics *instruments
	main    *http.Server
	side    *http.Server // nil without MetricsListen

	mainL, sideL net.Listener

	// stopping ends the streams, which would otherwise hold up Stop.
	stopping context.Context
	stop     context.CancelFunc
	draining atomic.Bool
	stopOnce sync.Once
	stopErr  error
}

// New builds a server. An error is a mistake in what it was given: two pages
// with one prefix, a prefix without slashes.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg = cfg.withDefaults()
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, deps: deps, metrics: newInstruments(deps.Registerer, deps.Webhooks)}
	s.stopping, s.stop = context.WithCancel(context.Background())
	root, err := s.router()
	if err != nil {
		return nil, err
	}
	s.main = s.httpServer(root)
	if cfg.MetricsListen != "" && deps.Metrics != nil {
		s.side = s.httpServer(s.metricsRouter())
	}
	return s, nil
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: s.cfg.HeaderTimeout,
		ReadTimeout:       s.cfg.ReadTimeout,
		IdleTimeout:       s.cfg.IdleTimeout,
		MaxHeaderBytes:    s.cfg.MaxHeader,
		// WriteTimeout can't be lifted for one request, so that each request
		// sets its own deadline (see limits).
		ErrorLog: slog.NewLogLogger(s.deps.Log.Handler(), slog.LevelDebug),
	}
}

// Listen opens the listeners; requests wait in the backlog until Serve.
func (s *Server) Listen(ctx context.Context) error {
	l, err := listen(ctx, s.cfg.Listen)
	if err != nil {
		return err
	}
	s.mainL = l
	if s.side != nil {
		if s.sideL, err = listen(ctx, s.cfg.MetricsListen); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	return nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, problem.AddressInUse.Errorf("listen on %s: the address is in use; stop the program that has it or choose another port: %w", addr, err)
	case errors.Is(err, syscall.EACCES):
		return nil, problem.AddressDenied.Errorf("listen on %s: not allowed; choose a port from 1024 up or grant CAP_NET_BIND_SERVICE: %w", addr, err)
	default:
		return nil, problem.Listen.Errorf("listen on %s: %w", addr, err)
	}
}

// Addr is where the server listens, after Listen; the port is the real one.
func (s *Server) Addr() net.Addr { return s.mainL.Addr() }

// MetricsAddr is the listener of /metrics alone, or nil.
func (s *Server) MetricsAddr() net.Addr {
	if s.sideL == nil {
		return nil
	}
	return s.sideL.Addr()
}

// Serve answers requests until Stop, and then returns nil; anything else is
// why a listener broke, which ends both. Call it after Listen.
func (s *Server) Serve() error {
	done := make(chan error, 2)
	run := func(srv *http.Server, l net.Listener) {
		err := srv.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		} else {
			err = fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
		}
		done <- err
	}
	count := 1
	go run(s.main, s.mainL)
	if s.side != nil {
		count++
		go run(s.side, s.sideL)
	}
	first := <-done
	if first != nil {
		first = errors.Join(first, s.main.Close())
		if s.side != nil {
			first = errors.Join(first, s.side.Close())
		}
	}
	for range count - 1 {
		first = errors.Join(first, <-done)
	}
	return first
}

// Drain makes the server say that it isn't ready, while it goes on serving:
// the first step of an orderly stop behind a load balancer.
func (s *Server) Drain() { s.draining.Store(true) }

// Stop takes no more requests, ends the streams, and waits for the requests
// under way until ctx ends; then it cuts them off and says so. It may be
// called before Serve, and more than once.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		s.Drain()
		s.stop()
		s.stopErr = s.shutdown(ctx, s.main, s.mainL)
		// Last, so that a scrape can still see the end.
		if s.side != nil {
			s.stopErr = errors.Join(s.stopErr, s.shutdown(ctx, s.side, s.sideL))
		}
	})
	return s.stopErr
}

func (s *Server) shutdown(ctx context.Context, srv *http.Server, l net.Listener) error {
	if l == nil {
		return nil
	}
	err := srv.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop HTTP on %s: requests under way were cut off: %w", l.Addr(), err), srv.Close())
	}
	// A listener that Serve never saw is not the http.Server's to close.
	if cerr := l.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}
