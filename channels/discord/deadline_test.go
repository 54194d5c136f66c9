package discord_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/internal/secret"
)

// calls answers every call with success, and notes it.
type calls chan string

func (c calls) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c <- r.Method + " " + r.URL.Path + " " + string(body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, nil
}

// TestWebhook_B20_AnsweredBeforeDiscordHangsUp: a commit that takes longer is
// promised an answer after two seconds, of the three that Discord waits; what
// becomes of a command is shown when it is decided.
func TestWebhook_B20_AnsweredBeforeDiscordHangsUp(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("\x01", ed25519.SeedSize)))
	refused := &channels.RefusedError{Reason: channels.RefusedQueueFull}
	for name, tt := range map[string]struct {
		body  string
		err   error
		first string // what the request is answered
		then  string // the text that follows, "" is that none does
	}{
		"command":           {`"type":2,"data":{"name":"reset"}`, nil, `{"type":5,"data":{"flags":64}}`, "✓"},
		"command refused":   {`"type":2,"data":{"name":"reset"}`, refused, `{"type":5,"data":{"flags":64}}`, "✗"},
		"press":             {`"type":3,"data":{"component_type":2,"custom_id":"b"}`, nil, `{"type":6}`, ""},
		"press, store away": {`"type":3,"data":{"component_type":2,"custom_id":"b"}`, &channels.RefusedError{Reason: channels.RefusedUnavailable}, `{"type":6}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				made := make(calls, 8)
				a, err := discord.New(discord.Config{
					Token: secret.New(discordtest.Token()), Mode: discord.ModeInteractions,
					PublicKey: hex.EncodeToString(key.Public().(ed25519.PublicKey)), //nolint:forcetypeassert // what the key is
				}, discord.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "dc", Transport: made})
				if err != nil {
					t.Fatal(err)
				}
				slow := newSink()
				slow.set(a)
				slow.hold = make(chan struct{})
				slow.fail(tt.err)
				body := `{"id":"11","application_id":"12","token":"itoken-1","channel_id":"13","user":{"id":"14"},` + tt.body + `}`
				req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
				req.Header.Set("X-Signature-Timestamp", "1700000000")
				req.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(key, []byte("1700000000"+body))))
				rec := httptest.NewRecorder()
				begun := time.Now()
				over := make(chan struct{})
				go func() {
					a.Webhook(slow).ServeHTTP(rec, req)
					close(over)
				}()
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if got := strings.TrimSpace(rec.Body.String()); got != tt.first || !rec.Flushed {
					t.Errorf("after %s the answer is %s (sent %v), want %s", time.Since(begun), got, rec.Flushed, tt.first)
				}
				close(slow.hold)
				<-over
				close(made)
				want := ""
				if tt.then != "" {
					want = fmt.Sprintf(`PATCH /api/v10/webhooks/12/itoken-1/messages/@original {"content":%q}`, tt.then)
				}
				if got := <-made; got != want {
					t.Errorf("then called %q, want %q", got, want)
				}
			})
		})
	}
}
