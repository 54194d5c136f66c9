package webchat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/parley-bot/parley/channels"
)

// cookieName carries the token for the page.
const cookieName = "parley_chat"

// cookieAge is how long a browser keeps a session.
const cookieAge = 365 * 24 * time.Hour

// session is a visitor. It is kept as JSON under session/HASH.
type session struct {
	ID      channels.ChatID `json:"session"`
	Lang    string          `json:"lang,omitempty"`
	Created time.Time       `json:"created"`
}

func (s session) chat() channels.Chat { return channels.Chat{ID: s.ID} }

func (s session) user() channels.User {
	return channels.User{ID: channels.UserID(s.ID), Lang: s.Lang}
}

var (
	errNoToken    = errors.New("no token")
	errWrongToken = errors.New("wrong token")
	errCrossSite  = errors.New("a request with a cookie from another site")
)

// begin makes a session and returns its token, which is kept nowhere.
func (a *Adapter) begin(ctx context.Context, lang string) (session, string, error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	s := session{
		ID:      channels.ChatID(strings.ToLower(rand.Text())),
		Lang:    a.visitorLang(lang),
		Created: time.Now().UTC().Truncate(time.Second),
	}
	value, err := json.Marshal(s)
	if err != nil {
		return session{}, "", fmt.Errorf("encoding a session: %w", err)
	}
	ok, err := a.host.State().Swap(ctx, stateKey(token), nil, value)
	if err != nil {
		return session{}, "", fmt.Errorf("saving a session: %w", err)
	}
	if !ok {
		return session{}, "", errors.New("saving a session: its key is taken")
	}
	return s, token, nil
}

// visitorLang is the configured language, else the visitor's. What is no
// language tag is no reason to turn anybody away.
func (a *Adapter) visitorLang(lang string) string {
	if a.cfg.Lang != "" {
		return a.cfg.Lang
	}
	if len(lang) > 64 {
		return ""
	}
	tag, err := language.Parse(lang)
	if err != nil || tag == language.Und {
		return ""
	}
	return tag.String()
}

// find returns the session of a request. A token in the header is always the
// one meant; a cookie counts only where the request came from our own page,
// since browsers add it to requests of other sites too.
func (a *Adapter) find(r *http.Request) (session, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return session{}, errWrongToken
		}
		return a.load(r.Context(), strings.TrimSpace(token))
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" {
		return session{}, errNoToken
	}
	if !fromOwnPage(r) {
		return session{}, errCrossSite
	}
	return a.load(r.Context(), cookie.Value)
}

func (a *Adapter) load(ctx context.Context, token string) (session, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(32) {
		return session{}, errWrongToken
	}
	value, err := a.host.State().Get(ctx, stateKey(token))
	if err != nil {
		return session{}, fmt.Errorf("reading a session: %w", err)
	}
	if value == nil {
		return session{}, errWrongToken
	}
	var s session
	if err := json.Unmarshal(value, &s); err != nil {
		return session{}, fmt.Errorf("decoding a session: %w", err)
	}
	return s, nil
}

func (a *Adapter) setCookie(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure follows the public URL: on loopback there is no https
		Name: cookieName, Value: token, Path: a.cfg.Prefix,
		MaxAge: int(cookieAge.Seconds()), HttpOnly: true,
		Secure: a.cfg.Secure || r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
}

func stateKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "session/" + hex.EncodeToString(sum[:])
}

func newMessageID() channels.MessageID {
	return channels.MessageID("r-" + strings.ToLower(rand.Text()))
}
