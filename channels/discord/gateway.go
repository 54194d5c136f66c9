package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/parley-bot/parley/channels"
)

// Intents (https://docs.discord.com/developers/events/gateway#gateway-intents).
const (
	intentGuilds         = 1 << 0
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
	intentMessageContent = 1 << 15
)

const (
	// patience is how long connecting may fail until Run returns.
	patience = time.Minute
	// slack is more than it takes until a connection is made.
	slack = 3 * time.Minute
	// maxResumes is how often a session is resumed in vain, while Discord says
	// that it could be.
	maxResumes = 5
	// identifyEvery is the least time between two sessions that begin; after
	// as many as many in an hour it is identifyRarely. Discord allows a
	// thousand a day, and then makes the token void.
	identifyEvery  = 5 * time.Second
	many           = 20
	identifyRarely = 3 * time.Minute
)

// trouble is how long connecting has failed. It outlives a Run, so that a
// channel that is down and started again is down at its first failure.
type trouble struct {
	since time.Time
	fails int
	// identified are the sessions that were begun lately.
	identified []time.Time
	// intent is true after Discord refused an intent. Asking again by a
	// session that begins would use up the day's.
	intent bool
	// token is true after the token was refused to a bot that has no connection
	// by which it would show that it isn't any more.
	token bool
}

// gateway is one Run's receiving.
type gateway struct {
	*Adapter
	*progress
	sink  channels.Sink
	lanes *lanes
	// fetches are the calls for what was missed.
	fetches pace
	// answers are calls under way that nobody waits for.
	answers sync.WaitGroup
	// setting is held while commands are registered.
	setting sync.Mutex
}

// setUp registers the commands, when it is known that Discord is there.
func (g *gateway) setUp() {
	g.answers.Go(func() {
		if g.setting.TryLock() {
			defer g.setting.Unlock()
			g.registerCommands(g.lanes.ctx)
		}
	})
}

// receive keeps a connection to the gateway until ctx ends.
func (a *Adapter) receive(ctx context.Context, sink channels.Sink) error {
	work, stop := context.WithCancel(ctx)
	g := &gateway{Adapter: a, progress: a.load(ctx), sink: sink, lanes: newLanes(work)}
	a.recall(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { a.keep(work, g.progress) })
	defer func() {
		stop()
		g.lanes.work.Wait()
		g.answers.Wait()
		keeper.Wait()
		a.save(ctx, g.progress)
	}()
	for {
		channels.Progressed(sink, slack)
		if err := g.refusedBefore(work); err != nil {
			a.link.Set(stateOf(err), err.Error())
			return err
		}
		opened, err := g.connect(work)
		if ctx.Err() != nil {
			return nil
		}
		pause, err := g.ended(ctx, opened, err)
		if err != nil {
			return err
		}
		channels.Progressed(sink, pause+slack)
		if a.wait(ctx, pause) != nil {
			return nil
		}
	}
}

// ended tells how long to wait after a connection that ended, or why to stop.
// opened is whether it got so far that events came.
func (g *gateway) ended(ctx context.Context, opened bool, err error) (time.Duration, error) {
	t := &g.trouble
	if opened {
		*t = trouble{identified: t.identified}
	}
	if t.fails++; t.since.IsZero() {
		t.since = g.now()
	}
	pause, fatal := g.judge(err)
	if fatal != nil {
		g.link.Set(stateOf(fatal), fatal.Error())
		return 0, fatal
	}
	g.link.Set(channels.LinkConnecting, err.Error())
	if down := g.now().Sub(t.since); down >= patience {
		return 0, fmt.Errorf("the gateway has not been reached for %s: %w", down.Round(time.Second), err)
	}
	level := slog.LevelWarn
	if opened {
		level = slog.LevelDebug // now and then that is normal, and the core tells of it
	}
	g.log.Log(ctx, level, "connection to the gateway ended: trying again", "retry_in", pause, "err", err)
	return pause, nil
}

// judge forgets a session that is gone, and tells how long to wait.
func (g *gateway) judge(err error) (pause time.Duration, fatal error) {
	pause = channels.BackOff(g.trouble.fails, longestWait)
	if inv, ok := errors.AsType[*invalidError](err); ok {
		// One that stays in between is of no use.
		if !inv.resumable || g.trouble.fails > maxResumes {
			g.drop()
		}
		// As Discord asks (op 9).
		return time.Second + rand.N(4*time.Second), nil
	}
	if errors.Is(err, errReconnect) {
		return 0, nil
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		if e.class() == channels.PermanentToken {
			return 0, g.tokenError(err)
		}
		return max(pause, e.after), nil
	}
	if limited, ok := errors.AsType[*limitError](err); ok {
		return 0, limited
	}
	ce, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		return pause, nil
	}
	switch ce.Code {
	case 4004:
		g.drop()
		return 0, g.tokenError(err)
	case 4013, 4014:
		g.drop()
		g.trouble.intent = true
		return 0, g.intentError(err)
	case 4010, 4011, 4012:
		g.drop()
		return 0, &refusedError{"discord refuses the connection: the bot is in too many servers for one connection, or this version of parley is too old", err}
	case 4003, 4007, 4009: // the session is of no use
		g.drop()
	}
	return pause, nil
}

// limitError is that no more sessions may begin today.
type limitError struct{ reset time.Duration }

func (e *limitError) Error() string {
	return fmt.Sprintf("discord allows no more sessions of the gateway for %s: the bot was started too often today", e.reset.Round(time.Second))
}

// refusedBefore asks, after an intent was refused, whether it still would be.
func (g *gateway) refusedBefore(ctx context.Context) error {
	if !g.trouble.intent {
		return nil
	}
	app, err := g.application(ctx)
	if err == nil && app.Flags&flagsContent == 0 {
		return g.intentError(errors.New("it is still off"))
	}
	g.trouble.intent = false
	return nil
}

// where asks where the gateway is. A session that begins is one of the day's.
func (g *gateway) where(ctx context.Context, id, url string) (string, error) {
	const query = "/?v=" + apiVersion + "&encoding=json"
	if g.cfg.GatewayURL != "" {
		return g.cfg.GatewayURL + query, nil
	}
	if id != "" && url != "" && g.trouble.fails < 3 {
		return trim(url) + query, nil
	}
	var answer struct {
		URL   string `json:"url"`
		Limit *struct {
			Remaining  int   `json:"remaining"`
			ResetAfter int64 `json:"reset_after"`
		} `json:"session_start_limit"`
	}
	if err := g.rest.call(ctx, http.MethodGet, "/gateway/bot", nil, &answer); err != nil {
		return "", err
	}
	if answer.Limit != nil && answer.Limit.Remaining <= 0 && id == "" {
		return "", &limitError{time.Duration(answer.Limit.ResetAfter) * time.Millisecond}
	}
	if answer.URL == "" {
		return "", errors.New("discord names no gateway")
	}
	return trim(answer.URL) + query, nil
}

func trim(url string) string {
	for len(url) > 0 && url[len(url)-1] == '/' {
		url = url[:len(url)-1]
	}
	return url
}

// spare tells how long to wait before another session begins.
func (t *trouble) spare(now time.Time) time.Duration {
	t.identified = slices.DeleteFunc(t.identified, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(t.identified) == 0 {
		return 0
	}
	every := identifyEvery
	if len(t.identified) >= many {
		every = identifyRarely
	}
	return every - now.Sub(t.identified[len(t.identified)-1])
}

// login is what resumes a session, or begins one.
func (g *gateway) login(ctx context.Context, id string, seq int64) (frame, error) {
	token := g.cfg.Token.Reveal()
	if id != "" {
		return frame{Op: opResume, D: map[string]any{"token": token, "session_id": id, "seq": seq}}, nil
	}
	if pause := g.trouble.spare(g.now()); pause > 0 {
		if pause > identifyEvery {
			g.log.Warn("sessions of the gateway end soon after they began: the next one waits, for Discord allows a thousand a day", "retry_in", pause)
		}
		channels.Progressed(g.sink, pause+slack)
		if err := g.wait(ctx, pause); err != nil {
			return frame{}, err
		}
	}
	g.trouble.identified = append(g.trouble.identified, g.now())
	intents := intentGuilds | intentGuildMessages | intentDirectMessages
	if *g.cfg.MessageContent {
		intents |= intentMessageContent
	}
	return frame{Op: opIdentify, D: map[string]any{
		"token": token, "intents": intents, "large_threshold": 50,
		"properties": map[string]string{"os": "linux", "browser": "parley", "device": "parley"},
	}}, nil
}
