package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Source is the table of events, as a follower needs it.
type Source interface {
	// After returns up to limit rows with larger IDs, in order of ID. It
	// returns a row only when no row with a smaller ID can be committed any
	// more: a cursor never looks back.
	After(ctx context.Context, cursor int64, limit int) ([]Row, error)
	// Cursor is the last row that the sink has; 0 is none.
	Cursor(ctx context.Context, sink string) (int64, error)
	// SetCursor saves it.
	SetCursor(ctx context.Context, sink string, id int64) error
}

// Sink takes events somewhere.
type Sink interface {
	// Name is the sink's cursor in the store; it never changes.
	Name() string
	// Write returns nil once the rows are safe. After an error all of them
	// are written again. An error may have a method RetryAfter()
	// time.Duration.
	Write(ctx context.Context, rows []Row) error
	// Close releases what Write opened.
	Close() error
}

// Metrics are the followers' metrics, one set for all of a process.
type Metrics struct {
	written *prometheus.CounterVec
	retries *prometheus.CounterVec
	dropped prometheus.Counter
}

// NewMetrics registers the metrics. parley_audit_dropped_total exists to be
// watched: nothing here drops an event, and it stays 0.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		written: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_audit_written_total", Help: "Audit events written, by sink; one written again counts again.",
		}, []string{"sink"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_audit_retries_total", Help: "Batches of audit events that have to be tried again, by sink.",
		}, []string{"sink"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "parley_audit_dropped_total", Help: "Audit events that were given up; always 0.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.written, m.retries, m.dropped)
	}
	return m
}

// The follower's pace.
const (
	batch      = 200
	poll       = 5 * time.Second
	minBackoff = 500 * time.Millisecond
	maxBackoff = time.Minute
)

// Follower brings the rows of a source to one sink.
type Follower struct {
	source  Source
	sink    Sink
	log     *slog.Logger
	metrics *Metrics
	wake    chan struct{}
}

// NewFollower makes a follower; Run makes it go.
func NewFollower(source Source, sink Sink, log *slog.Logger, m *Metrics) *Follower {
	m.written.WithLabelValues(sink.Name())
	m.retries.WithLabelValues(sink.Name())
	return &Follower{source: source, sink: sink, log: log.With("component", "audit", "sink", sink.Name()), metrics: m, wake: make(chan struct{}, 1)}
}

// Wake says that there may be new rows. It never blocks. A row that nobody
// told of is found within five seconds.
func (f *Follower) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Name is the sink's.
func (f *Follower) Name() string { return f.sink.Name() }

// Run follows until ctx ends and then closes the sink. What isn't written by
// then is written after the next start.
func (f *Follower) Run(ctx context.Context) error {
	cursor, known, backoff := int64(0), false, time.Duration(0)
	for ctx.Err() == nil {
		var err error
		if !known {
			cursor, err = f.source.Cursor(ctx, f.sink.Name())
			known = err == nil
		}
		n := 0
		if err == nil {
			cursor, n, err = f.step(ctx, cursor)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			backoff = min(max(2*backoff, minBackoff), maxBackoff)
			f.metrics.retries.WithLabelValues(f.sink.Name()).Inc()
			f.log.WarnContext(ctx, "audit events are held up", "err", err, "retry_in", backoff.String())
			f.pause(ctx, err, backoff)
		case n < batch:
			backoff = 0
			f.idle(ctx)
		default:
			backoff = 0
		}
	}
	if err := f.sink.Close(); err != nil {
		return fmt.Errorf("close audit sink %s: %w", f.sink.Name(), err)
	}
	return nil
}

// step writes one batch and returns the cursor behind it.
func (f *Follower) step(ctx context.Context, cursor int64) (int64, int, error) {
	rows, err := f.source.After(ctx, cursor, batch)
	if err != nil || len(rows) == 0 {
		return cursor, 0, err
	}
	if err := f.sink.Write(ctx, rows); err != nil {
		return cursor, 0, err
	}
	f.metrics.written.WithLabelValues(f.sink.Name()).Add(float64(len(rows)))
	last := rows[len(rows)-1].ID
	// If saving fails the rows are written twice after a restart only: this
	// process knows better and goes on behind them.
	if err := f.source.SetCursor(ctx, f.sink.Name(), last); err != nil {
		return last, 0, fmt.Errorf("save the audit cursor: %w", err)
	}
	return last, len(rows), nil
}

// idle waits for news.
func (f *Follower) idle(ctx context.Context) {
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case <-f.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// pause waits before a retry: as long as the sink asked, or with jitter so
// that many processes don't come back at once.
func (f *Follower) pause(ctx context.Context, err error, backoff time.Duration) {
	d := backoff/2 + rand.N(backoff/2)
	if ra, ok := errors.AsType[retryAfter](err); ok {
		d = min(max(ra.RetryAfter(), d), 10*maxBackoff)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// retryAfter is an error that says when to try again.
type retryAfter interface {
	error
	RetryAfter() time.Duration
}
