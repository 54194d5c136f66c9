package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	tg "github.com/go-telegram/bot"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Adapter          = (*Adapter)(nil)
	_ channels.Editor           = (*Adapter)(nil)
	_ channels.Typer            = (*Adapter)(nil)
	_ channels.Acker            = (*Adapter)(nil)
	_ channels.WebhookReceiver  = (*Adapter)(nil)
	_ channels.WebhookRegistrar = (*Adapter)(nil)
	_ channels.Checker          = (*Adapter)(nil)
	_ channels.Linker           = (*Adapter)(nil)
	_ channels.Holder           = (*Adapter)(nil)
)

// Adapter is one bot.
type Adapter struct {
	cfg   Config
	name  string
	lang  string
	log   *slog.Logger
	state channels.State
	api   *tg.Bot
	http  *client

	naming   sync.Mutex // one getMe at a time
	me       atomic.Pointer[identity]
	moves    moves
	answered answered
	trouble  trouble
	link     channels.Teller

	// Replaced by tests.
	now  func() time.Time
	rest func(ctx context.Context, d time.Duration) error
}

// New makes an adapter; it makes no call. An error tells what is wrong with
// cfg, without the token.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Host == nil || deps.Log == nil {
		return nil, errors.New("telegram: Host and Log are required")
	}
	cfg.complete()
	a := &Adapter{
		cfg: cfg, name: deps.Name, lang: deps.Lang, log: deps.Log, state: deps.Host.State(),
		http: newClient(cfg, deps.Transport), now: time.Now, rest: channels.Rest,
	}
	a.moves.to = map[int64]int64{}
	a.answered.ids = map[string]bool{}
	var err error
	a.api, err = tg.New(cfg.Token.Reveal(), tg.WithSkipGetMe(), tg.WithServerURL(cfg.APIURL), tg.WithHTTPClient(pollTime, a.http),
		// Its default writes to the standard logger.
		tg.WithErrorsHandler(func(err error) { a.log.Debug("telegram client", "err", a.http.scrub(err)) }))
	if err != nil {
		return nil, fmt.Errorf("telegram client: %w", a.http.scrub(err))
	}
	return a, nil
}

// budget is what Telegram advises (https://core.telegram.org/bots/faq, "My bot
// is hitting limits"): a message a second in a chat, where short bursts are
// fine, 20 a minute in a group, and 30 a second in all. Only its 429 is sure,
// and the outbox heeds that in any case.
func budget(chat channels.Chat) channels.Budget {
	b := channels.Budget{
		Chat:    channels.Rate{Sends: 20, Per: 20 * time.Second},
		Account: channels.Rate{Sends: 30, Per: time.Second},
	}
	if chat.Group {
		b.Chat = channels.Rate{Sends: 20, Per: time.Minute}
	}
	return b
}

// draftEvery is how often an answer that is being written is shown anew: well
// within the budget, since each time is an edit.
func draftEvery(chat channels.Chat) time.Duration {
	if chat.Group {
		return 6 * time.Second
	}
	return 1500 * time.Millisecond
}

// Capabilities differ by chat in the budget, and in how often drafts are shown.
func (a *Adapter) Capabilities(chat channels.Chat) channels.Capabilities {
	c := channels.Capabilities{
		TextMax: 4096, Unit: channels.UnitUTF16, Markup: channels.MarkupHTML,
		Buttons: &channels.ButtonLimits{Max: maxButtons, LabelMax: 64, IDBytes: 64},
		Edit:    channels.EditLimits{Text: true, MinInterval: time.Second, Draft: draftEvery(chat)},
		Typing:  5 * time.Second,
		// Whoever presses a button can be shown a notice of their own.
		Private: true,
		Threads: true,
	}
	if a.cfg.Pace == PaceOn {
		c.Budget = budget(chat)
	}
	return c
}

// Run receives until ctx ends. It returns an error where the token is refused,
// where another process takes this bot's updates, and where Telegram has been
// out of reach for a minute.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	defer a.http.CloseIdleConnections()
	a.link.Begin(ctx, sink)
	defer a.link.End()
	if err := a.introduce(ctx); err != nil {
		return err
	}
	var extra sync.WaitGroup
	defer extra.Wait()
	extra.Go(func() { a.registerCommands(ctx) })
	if a.cfg.Mode == ModePolling {
		return a.poll(ctx, sink)
	}
	// Telegram calls whether it can be called or not.
	a.link.Set(channels.LinkUp, "")
	extra.Go(func() { a.lookAtWebhook(ctx) })
	<-ctx.Done()
	return nil
}

// Link is up once a poll was answered, and until one fails. By webhook it is up
// while the bot runs.
func (a *Adapter) Link() channels.Link { return a.link.Link() }

// Holds implements channels.Holder: Telegram serves one poll of a bot.
func (a *Adapter) Holds() bool { return a.cfg.Mode == ModePolling }

// longestWait is the longest wait before something is tried again.
const longestWait = 30 * time.Second
