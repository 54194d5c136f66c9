package inbox

import (
	"cmp"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/locale"
)

// Config are the limits, and the policy of each channel.
type Config struct {
	Channels map[string]Policy
	// PerUser is limits.per_user: at most N messages in each Per; N 0 is no
	// limit.
	PerUser Rate
	// QueueMax is limits.queue_per_chat; 0 is no limit.
	QueueMax int
	// MessageBytes is limits.message_bytes; 0 is 16 KiB.
	MessageBytes int
}

// Policy says who may write to a channel, and what in a group is meant for
// the bot.
type Policy struct {
	// Allow are those who may write and press; nil is everybody, unless Pair.
	Allow []channels.UserID
	// Pair gives others a code in private chats, by which they can be let
	// in. Without it they are ignored.
	Pair bool
	// All answers everything in groups, not only what addresses the bot.
	All bool
	// Shared gives a group one session instead of one for each person.
	Shared bool
}

// Deps are what an inbox is made with. Store, Words and Texts are required.
// The hooks, which may be nil, are told after the commit; they must not block.
type Deps struct {
	Store Store
	Words *confirm.Words
	Texts *locale.Catalog
	// Wake: the lane has work.
	Wake func(lane string)
	// Speak: the chat's outbox has something to send.
	Speak func(channel, chatKey string)
	// Logged: the chat's log grew.
	Logged func(chatKey string)
	// Cut: the lane's turn was ended from outside.
	Cut func(lane string)
	Log *slog.Logger
	// Registerer takes the metrics; nil: nobody.
	Registerer prometheus.Registerer
	// Tools are those that may ask, so that their series exist from the start.
	Tools []string
	// Now is the clock of limits.per_user; nil is the machine's.
	Now func() time.Time
}

// Rules are what may change while messages come in (Inbox.Use).
type Rules struct {
	Words *confirm.Words
	Texts *locale.Catalog
	// PerUser, QueueMax and MessageBytes are those of Config.
	PerUser      Rate
	QueueMax     int
	MessageBytes int
}

// Inbox accepts messages of all channels. Its methods may be called from many
// goroutines at once.
type Inbox struct {
	cfg     Config
	deps    Deps
	rules   atomic.Pointer[Rules]
	limits  *limiter
	langs   *memo[string, string] // what /lang set, by lane
	metrics *metrics
}

// defaultBytes is the longest message where the configuration doesn't say.
const defaultBytes = 16 << 10

// New makes an inbox. The error is of metrics that are registered already.
func New(cfg Config, deps Deps) (*Inbox, error) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	names := make([]string, 0, len(cfg.Channels))
	for name := range cfg.Channels {
		names = append(names, name)
	}
	m, err := newMetrics(deps.Registerer, names, deps.Tools)
	if err != nil {
		return nil, err
	}
	i := &Inbox{
		cfg: cfg, deps: deps, metrics: m,
		limits: newLimiter(cfg.PerUser, deps.Now), langs: newMemo[string, string](deps.Now),
	}
	i.Use(Rules{
		Words: deps.Words, Texts: deps.Texts,
		PerUser: cfg.PerUser, QueueMax: cfg.QueueMax, MessageBytes: cfg.MessageBytes,
	})
	return i, nil
}

// Use replaces the rules for messages that come from now on. Who has written
// as much as PerUser allows stays so until the window ends.
func (i *Inbox) Use(r Rules) {
	r.MessageBytes = cmp.Or(max(r.MessageBytes, 0), defaultBytes)
	i.limits.use(r.PerUser)
	i.rules.Store(&r)
}

// texts are the bot's texts as they are now.
func (i *Inbox) texts() *locale.Catalog { return i.rules.Load().Texts }

// maxBytes is the longest message as it is now.
func (i *Inbox) maxBytes() int { return i.rules.Load().MessageBytes }

// Asked counts a question that a turn asked.
func (i *Inbox) Asked(tool string) { i.metrics.confirmed(tool, outAsked) }

// Ended counts a question that ended elsewhere (expired, or cancelled since it
// couldn't be sent); those that a message ends are counted here.
func (i *Inbox) Ended(tool, outcome string, waited time.Duration) {
	i.metrics.confirmed(tool, outcome)
	i.metrics.waited.Observe(max(0, waited).Seconds())
}

// Sink is where a channel's adapter hands its messages. A press is
// acknowledged by the adapter, where it is a channels.Acker.
func (i *Inbox) Sink(channel string, adapter channels.Adapter) channels.Sink {
	return &sink{Inbox: i, channel: channel, adapter: adapter, policy: i.cfg.Channels[channel]}
}

// done tells who must know of a commit. A turn is cut before the lane is
// woken: what is woken is not what was cut.
func (i *Inbox) done(p Place, acc Accepted) {
	lane := cmp.Or(acc.Lane, p.Lane)
	if r := acc.Resolved; r != nil {
		i.Ended(r.Tool, r.Outcome, r.Waited)
	}
	if acc.Cut && i.deps.Cut != nil {
		i.deps.Cut(lane)
	}
	if acc.Wake && i.deps.Wake != nil {
		i.deps.Wake(lane)
	}
	if acc.Speak && i.deps.Speak != nil {
		i.deps.Speak(p.Channel, p.ChatKey)
	}
	if acc.Logged && i.deps.Logged != nil {
		i.deps.Logged(p.ChatKey)
	}
}
