package discordtest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels/platformtest"
)

// The bot's, unless Options say otherwise. The first part of a token is the
// bot's id.
const (
	BotID    = "4217000000000000001"
	AppID    = "4217000000000000002"
	RoleID   = "4217000000000000003"
	GuildID  = "4217000000000000010"
	TextID   = "4217000000000000011" // a text channel of the guild
	Username = "parley"
)

// Token is the bot's, unless Options say otherwise.
func Token() string {
	return base64.RawStdEncoding.EncodeToString([]byte(BotID)) + ".Canary.token-Of_the-fake"
}

// Options are the traits of one server; the zero value is the usual bot.
type Options struct {
	// Token is the bot's; the default is Token().
	Token string
	// Heartbeat is what hello asks for; the default is 41.25 s, as Discord's.
	Heartbeat time.Duration
	// NoContent is true where the message content intent isn't enabled in
	// the developer portal.
	NoContent bool
	// Rate answers 429 to a sixth message to a channel within five seconds.
	Rate bool
	// Identifies is how many are left of the day's; the default is 1000.
	Identifies int
	// Now is the clock of ids, rates and interactions; nil is the machine's.
	Now func() time.Time
}

// Server is the platform with one bot in one guild. Its methods may be called
// from many goroutines.
type Server struct {
	platformtest.Changes

	opts Options
	http *httptest.Server
	key  ed25519.PrivateKey
	out  *http.Client

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu         sync.Mutex
	calls      []Call
	violations []string
	faults     []Fault
	held       int
	revoked    bool
	lastID     uint64

	channels     map[string]*channel
	interactions map[string]*interaction // by token
	commands     string
	endpoint     string // interactions_endpoint_url
	typing       []string
	notices      map[string][]string // ephemeral messages by user

	sessions   map[string]*session
	sockets    map[*socket]bool
	refuse     int // resumes that will be refused
	postpone   int // resumes that will be told to come again
	away       bool
	silent     bool // so are new connections
	noLogins   bool // logins aren't answered
	noGuild    bool // the guild isn't told of
	identifies []time.Time
	resumes    map[string]int // by the path that was called
	beats      []int64        // what heartbeats told
}

// New starts a server; Close ends it.
func New(opts Options) *Server {
	if opts.Token == "" {
		opts.Token = Token()
	}
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 41250 * time.Millisecond
	}
	if opts.Identifies == 0 {
		opts.Identifies = 1000
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Server{
		opts: opts, channels: map[string]*channel{}, interactions: map[string]*interaction{},
		notices: map[string][]string{}, sessions: map[string]*session{}, sockets: map[*socket]bool{}, resumes: map[string]int{},
		key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("\x01", ed25519.SeedSize))),
		out: &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second},
	}
	s.channels[TextID] = &channel{id: TextID, guild: GuildID, nonces: map[string]nonce{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL is the api_url, without a version.
func (s *Server) URL() string { return s.http.URL + "/api" }

// PublicKey is the application's, in hex.
func (s *Server) PublicKey() string {
	return hex.EncodeToString(s.key.Public().(ed25519.PublicKey)) //nolint:errcheck,forcetypeassert // what the key is
}

// Close ends the server and all connections.
func (s *Server) Close() {
	s.cancel()
	s.mu.Lock()
	for c := range s.sockets {
		_ = c.conn.NetConn().Close()
	}
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
	s.work.Wait()
	s.out.CloseIdleConnections()
}

// id makes a snowflake; s.mu is held.
func (s *Server) id() string {
	n := uint64(max(0, s.opts.Now().UnixMilli()-epoch)) << 22
	s.lastID = max(n, s.lastID+1)
	return strconv.FormatUint(s.lastID, 10)
}

// epoch is Discord's, in milliseconds.
const epoch = 1420070400000

func (s *Server) violatef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportf(format, args...)
}

// reportf is violatef with s.mu held.
func (s *Server) reportf(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
	s.Signal()
}

// Violations lists what a correct client never does.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Call is one REST call that was made.
type Call struct {
	Method string
	// Path is without /api/vN.
	Path string
	Body map[string]any
	// Status is 0 where the connection was cut.
	Status, Code int
	At           time.Time
}

// Calls returns those whose method and path hold every text given, such as
// "POST" and "/messages".
func (s *Server) Calls(holding ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if !slices.ContainsFunc(holding, func(t string) bool { return !strings.Contains(c.Method+" "+c.Path, t) }) {
			out = append(out, c)
		}
	}
	return out
}

// RevokeToken makes every later call fail with 401, and closes the gateway's
// connections with 4004.
func (s *Server) RevokeToken() {
	s.mu.Lock()
	s.revoked = true
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	s.Disconnect(4004)
}

// RestoreToken undoes RevokeToken.
func (s *Server) RestoreToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = false
}

// Commands is the JSON of the registered commands.
func (s *Server) Commands() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

// Typing lists the channels that the bot was typing in.
func (s *Server) Typing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.typing)
}
