package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

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
	// MessageBytes is limits.message_bytes; 0 is no limit.
	MessageBytes int
}

// Policy says who may write to a channel, and what in a group is meant for
// the bot.
type Policy struct {
	// Allow are those who may write; nil is everybody in private chats.
	Allow []channels.UserID
	// All answers everything in groups, not only what addresses the bot.
	All bool
	// Shared gives a group one session instead of one for each person.
	Shared bool
}

// Deps are what an inbox is made with. The hooks are told after the commit;
// they must not block.
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
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Now is the clock of limits.per_user; nil is the machine's.
	Now func() time.Time
}

// Inbox accepts messages of all channels.
type Inbox struct {
	cfg     Config
	deps    Deps
	limits  *limiter
	metrics *metrics
}

// New makes an inbox.
func New(cfg Config, deps Deps) (*Inbox, error) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	names := make([]string, 0, len(cfg.Channels))
	for name := range cfg.Channels {
		names = append(names, name)
	}
	m, err := newMetrics(deps.Registerer, names)
	if err != nil {
		return nil, err
	}
	return &Inbox{cfg: cfg, deps: deps, limits: newLimiter(cfg.PerUser), metrics: m}, nil
}

// Asked counts a question that a turn asked.
func (i *Inbox) Asked(tool string) { i.metrics.confirmed(tool, "asked") }

// Ended counts a question that ended without an answer.
func (i *Inbox) Ended(tool, outcome string, waited time.Duration) {
	i.metrics.confirmed(tool, outcome)
	i.metrics.waited.Observe(waited.Seconds())
}

// Sink is where a channel's adapter hands its messages.
func (i *Inbox) Sink(channel string, adapter channels.Adapter) channels.Sink {
	return &sink{Inbox: i, channel: channel, adapter: adapter, policy: i.cfg.Channels[channel]}
}

// sink accepts for one channel.
type sink struct {
	*Inbox
	channel string
	adapter channels.Adapter
	policy  Policy
}

// unavailableFor is when a message may be tried again that the store couldn't
// take.
const unavailableFor = 5 * time.Second

// Accept implements channels.Sink.
func (s *sink) Accept(ctx context.Context, in channels.Inbound) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("accepting message: panic: %v", r)
		}
	}()
	err = s.accept(ctx, in)
	if errors.Is(err, ErrUnavailable) {
		s.metrics.inbound(s.channel, "unavailable")
		return &channels.RefusedError{Reason: channels.RefusedUnavailable, After: unavailableFor, Err: err}
	}
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok {
		s.metrics.inbound(s.channel, string(refused.Reason))
		return refused
	}
	if err != nil {
		return fmt.Errorf("accepting message of channel %s: %w", s.channel, err)
	}
	return nil
}

func (s *sink) accept(ctx context.Context, in channels.Inbound) error {
	if err := valid(in); err != nil {
		return err
	}
	m := message{in: in, place: s.place(in), caps: s.adapter.Capabilities(in.Chat)}
	if in.Kind == channels.KindPress {
		return s.press(ctx, m)
	}
	if !s.allowed(in) || in.Kind != channels.KindMessage {
		// Nobody we talk to, or a change to what was said: an edit never
		// answers, and what was answered stays answered.
		s.metrics.inbound(s.channel, string(Ignored))
		return nil
	}
	return s.message(ctx, m)
}

// message is an inbound with where it belongs.
type message struct {
	in    channels.Inbound
	place Place
	caps  channels.Capabilities
}

// valid refuses what no adapter should deliver.
func valid(in channels.Inbound) error {
	refuse := func(why string) error {
		return &channels.RefusedError{Reason: channels.RefusedInvalid, Err: errors.New(why)}
	}
	switch {
	case in.ID == "" || in.Chat.ID == "" || in.From.ID == "":
		return refuse("message, chat and sender need an id")
	case !utf8.ValidString(in.Text):
		return refuse("the text is not valid UTF-8")
	case len(in.ID) > maxID || len(in.Chat.ID) > maxID || len(in.From.ID) > maxID:
		return refuse("an id is longer than any platform's")
	}
	return nil
}

// maxID bounds platform ids, in bytes.
const maxID = 512

// allowed applies the channel's allow list.
func (s *sink) allowed(in channels.Inbound) bool {
	if s.policy.Allow == nil {
		return true
	}
	for _, u := range s.policy.Allow {
		if u == in.From.ID {
			return true
		}
	}
	return false
}

// place is where the message belongs (interface: chat key).
func (s *sink) place(in channels.Inbound) Place {
	key := s.channel + ":" + string(in.Chat.ID)
	p := Place{Channel: s.channel, ChatKey: key, Lane: key, Chat: in.Chat}
	if in.Chat.Thread != "" {
		p.Lane += ":" + string(in.Chat.Thread)
	}
	if in.Chat.Group && !s.policy.Shared {
		p.Lane += ":" + string(in.From.ID)
	}
	return p
}

// dedupeKey names the message among all that were ever received.
func (s *sink) dedupeKey(in channels.Inbound) string {
	// The account is the instance: its name is unique and stays.
	return fmt.Sprintf("%s:%s:%s:%s:%s", s.channel, s.channel, in.Chat.ID, in.Kind, in.ID)
}

// done tells who must know of a commit.
func (s *sink) done(p Place, acc Accepted) {
	lane := acc.Lane
	if lane == "" {
		lane = p.Lane
	}
	s.metrics.inbound(s.channel, string(acc.Outcome))
	if acc.Outcome == Duplicate {
		s.metrics.duplicates.WithLabelValues(s.channel).Inc()
	}
	if r := acc.Resolved; r != nil {
		s.Ended(r.Tool, r.Outcome, r.Waited)
	}
	if acc.Cut {
		s.deps.Cut(lane)
	}
	if acc.Logged {
		s.deps.Logged(p.ChatKey)
	}
	if acc.Speak {
		s.deps.Speak(p.Channel, p.ChatKey)
	}
	if acc.Wake {
		s.deps.Wake(lane)
	}
}
