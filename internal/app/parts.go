package app

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/httpserver"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
)

// keep is how long the store keeps what, as configured.
func keep(r config.Retention) store.Keep {
	return store.Keep{
		Payload: r.Messages, Dedupe: r.Dedupe, Outbox: r.Outbox, Turns: r.Turns, Unknown: r.Unknown,
		Audit: r.Audit, Log: r.Log, History: r.History,
	}
}

// retention cleans up now and then, a bounded piece at a time.
func (a *App) retention(ctx context.Context) {
	const pause, between = time.Hour, time.Second
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		_, more, err := a.st.Clean(ctx, keep(a.cfg.Store.Retention))
		if err != nil && ctx.Err() == nil {
			a.log.Warn("cleaning up failed", "err", err)
		}
		if more {
			timer.Reset(between)
		} else {
			timer.Reset(pause)
		}
	}
}

func (a *App) makeAudit(reg prometheus.Registerer) error {
	c := a.cfg.Audit
	m := audit.NewMetrics(reg) // also without sinks: what is watched has to be there
	if c.File != "" {
		a.sinks = append(a.sinks, audit.NewFile(c.File))
	}
	if c.Webhook.URL != "" {
		a.sinks = append(a.sinks, audit.NewWebhook(c.Webhook.URL, c.Webhook.Secret, &http.Client{Timeout: 10 * time.Second}))
	}
	for _, s := range a.sinks {
		a.followers = append(a.followers, audit.NewFollower(a.st, s, a.log, m))
	}
	return nil
}

// wakeAudit lets the sinks be written, here or by another process.
func (a *App) wakeAudit() {
	if len(a.followers) > 0 {
		a.st.Hint(store.Hint{Kind: store.HintAudit})
	}
	a.wakeFollowers()
}

func (a *App) wakeFollowers() {
	for _, f := range a.followers {
		f.Wake()
	}
}

func (a *App) makeServer(reg prometheus.Registerer) (err error) {
	deps := httpserver.Deps{
		Log: a.log, Registerer: reg, Metrics: a.registry.Handler(), Ready: a.ready, Webhooks: map[string]http.Handler{},
	}
	for _, in := range a.adapters {
		sink := a.sink(in)
		if w, ok := in.adapter.(channels.WebhookReceiver); ok {
			deps.Webhooks[in.name] = w.Webhook(sink)
		}
		if p, ok := in.adapter.(channels.PageServer); ok {
			prefix, h := p.Pages(sink)
			deps.Pages = append(deps.Pages, httpserver.Page{Prefix: prefix, Handler: h})
		}
	}
	deps.API = []httpserver.Endpoint{{Method: http.MethodPost, Path: "/reload", Handler: http.HandlerFunc(a.reloadCall)}}
	a.server, err = httpserver.New(httpserver.Config{
		Listen: a.cfg.Server.Listen, AdminToken: a.cfg.Server.AdminToken, MetricsListen: a.cfg.Server.MetricsListen, TrustedProxies: a.cfg.Server.Proxies(),
	}, deps)
	return err
}

// ready asks the store for something small: a store that can't be read or
// written is not ready.
func (a *App) ready(ctx context.Context) httpserver.Readiness {
	r := httpserver.Readiness{Ready: true, Store: "ok", Channels: a.health.report()}
	if err := a.st.Ping(ctx); err != nil {
		r.Ready, r.Store = false, err.Error()
	}
	for _, s := range r.Channels {
		r.Ready = r.Ready && (s.Up || s.State == string(channels.LinkStandby))
	}
	return r
}

// Addr is where the HTTP server listens.
func (a *App) Addr() string {
	if a.server == nil || a.server.Addr() == nil {
		return ""
	}
	return a.server.Addr().String()
}

func (a *App) makeInbox(reg prometheus.Registerer) (err error) {
	c := inbox.Config{
		Channels: map[string]inbox.Policy{}, QueueMax: a.cfg.Limits.QueuePerChat, MessageBytes: int(a.cfg.Limits.MessageBytes),
		PerUser: inbox.Rate{N: a.cfg.Limits.PerUser.N, Per: a.cfg.Limits.PerUser.Per},
	}
	for _, in := range a.adapters {
		p := inbox.Policy{All: in.cfg.Groups.ReplyTo == "all", Shared: in.cfg.Groups.Session == "group", Pair: in.cfg.Unknown == "pair"}
		if in.cfg.Allow != nil {
			p.Allow = []channels.UserID{}
		}
		for _, u := range in.cfg.Allow {
			p.Allow = append(p.Allow, channels.UserID(u))
		}
		c.Channels[in.name] = p
	}
	a.inbox, err = inbox.New(c, inbox.Deps{
		Store: a.st, Words: a.words, Texts: a.texts, Wake: a.dispatcher.Wake, Speak: a.speak,
		Logged: a.grew, Cut: a.cut, Log: a.log, Registerer: reg, Now: a.st.Now,
		Tools: a.confirming(),
	})
	return err
}

// confirming are the names of tools that may ask a person.
func (a *App) confirming() (names []string) {
	for _, t := range a.tools.registry.Tools() {
		p, ok := t.Runner.(tool.Predicate)
		if t.Confirm || ok && p.HasPredicate() {
			names = append(names, t.Name)
		}
	}
	return names
}
