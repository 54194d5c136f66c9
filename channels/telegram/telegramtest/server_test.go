package telegramtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels/telegram/telegramtest"
)

// answer is what a call is answered with.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MovedTo    int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func call(t *testing.T, s *telegramtest.Server, method, params string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/bot"+telegramtest.Token+"/"+method, strings.NewReader(params))
	if err != nil {
		t.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Error(err)
	}
	if !a.OK && a.Code != resp.StatusCode {
		t.Errorf("%s: status %d, error_code %d", method, resp.StatusCode, a.Code)
	}
	return a
}

func newServer(t *testing.T, o telegramtest.Options) *telegramtest.Server {
	t.Helper()
	s := telegramtest.New(o)
	t.Cleanup(s.Close)
	s.AddChat(42)
	return s
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ method, params, want string }{
		"good":                {"sendMessage", `{"chat_id":42,"text":"x"}`, ""},
		"chat nobody opened":  {"sendMessage", `{"chat_id":43,"text":"x"}`, "chat not found"},
		"empty":               {"sendMessage", `{"chat_id":42,"text":" "}`, "message text is empty"},
		"no text":             {"sendMessage", `{"chat_id":42}`, "message text is empty"},
		"too long":            {"sendMessage", `{"chat_id":42,"text":"` + strings.Repeat("🥐", 2049) + `"}`, "message is too long"},
		"unclosed":            {"sendMessage", `{"chat_id":42,"parse_mode":"HTML","text":"<b>x"}`, "can't parse entities: Can't find end tag"},
		"crossed":             {"sendMessage", `{"chat_id":42,"parse_mode":"HTML","text":"<b><i>x</b></i>"}`, "can't parse entities: Unmatched end tag"},
		"unknown tag":         {"sendMessage", `{"chat_id":42,"parse_mode":"HTML","text":"<h1>x</h1>"}`, `can't parse entities: Unsupported start tag "h1"`},
		"end without start":   {"sendMessage", `{"chat_id":42,"parse_mode":"HTML","text":"x</b>"}`, "can't parse entities: Unexpected end tag"},
		"65 bytes of data":    {"sendMessage", `{"chat_id":42,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"a","callback_data":"` + strings.Repeat("x", 65) + `"}]]}}`, "BUTTON_DATA_INVALID"},
		"button without text": {"sendMessage", `{"chat_id":42,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"","callback_data":"x"}]]}}`, "non-empty text"},
		"reply to nothing":    {"sendMessage", `{"chat_id":42,"text":"x","reply_parameters":{"message_id":9}}`, "message to be replied not found"},
		"reply, if there":     {"sendMessage", `{"chat_id":42,"text":"x","reply_parameters":{"message_id":9,"allow_sending_without_reply":true}}`, ""},
		"topic":               {"sendMessage", `{"chat_id":42,"text":"x","message_thread_id":1}`, "message thread not found"},
		"edit of nothing":     {"editMessageText", `{"chat_id":42,"message_id":1,"text":"x"}`, "message to edit not found"},
		"press of nobody":     {"answerCallbackQuery", `{"callback_query_id":"1"}`, "query is too old"},
		"webhook by http":     {"setWebhook", `{"url":"http://example.com"}`, "HTTPS URL"},
		"odd secret":          {"setWebhook", `{"url":"https://example.com","secret_token":"a b"}`, "unallowed characters"},
		"upper-case command":  {"setMyCommands", `{"commands":[{"command":"Reset","description":"x"}]}`, "BOT_COMMAND_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, telegramtest.Options{})
			a := call(t, s, tt.method, tt.params)
			if a.OK != (tt.want == "") || !strings.Contains(a.Description, tt.want) {
				t.Errorf("%+v", a)
			}
			if v := s.Violations(); len(v) != 0 {
				t.Errorf("violations %v", v)
			}
		})
	}
}

func TestMisuseIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"sendMassage", `{}`},
		{"sendMessage", `{"chat_id":42,"text":"x","parsemode":"HTML"}`},
		{"sendMessage", `{"chat_id":"forty","text":"x"}`},
		{"sendMessage", `{"text":"x"}`},
		{"getUpdates", `{"timeout":"long"}`},
		{"answerCallbackQuery", `{"callback_query_id":7}`},
	} {
		s := newServer(t, telegramtest.Options{})
		if a := call(t, s, c[0], c[1]); a.OK || len(s.Violations()) != 1 {
			t.Errorf("%s %s: %+v, violations %v", c[0], c[1], a, s.Violations())
		}
	}
}

func TestPollsConfirmAndExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := newServer(t, telegramtest.Options{})
	first := make(chan answer)
	go func() { first <- call(t, s, "getUpdates", `{"timeout":50}`) }()
	if err := s.Wait(t.Context(), s.Polling); err != nil {
		t.Fatal(err)
	}
	second := make(chan answer)
	go func() { second <- call(t, s, "getUpdates", `{"timeout":50}`) }()
	if a := <-first; a.Code != http.StatusConflict || !strings.Contains(a.Description, "terminated by other getUpdates") {
		t.Errorf("the older poll: %+v", a)
	}
	s.Say(telegramtest.User{ID: 42, Name: "Ana"}, "hi", nil)
	var got []struct {
		ID int64 `json:"update_id"`
	}
	if a := <-second; json.Unmarshal(a.Result, &got) != nil || len(got) != 1 {
		t.Fatalf("the newer poll: %+v", a)
	}
	if again := call(t, s, "getUpdates", `{"timeout":0}`); !strings.Contains(string(again.Result), `"hi"`) {
		t.Errorf("not confirmed, yet not delivered again: %+v", again)
	}
	offset, err := json.Marshal(map[string]int64{"offset": got[0].ID + 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "getUpdates", string(offset)); string(a.Result) != "[]" || len(s.Unconfirmed()) != 0 {
		t.Errorf("after its confirmation: %+v", a)
	}
}

func TestRatePressesAndMoves(t *testing.T) {
	t.Parallel()
	now := time.Unix(1700000000, 0)
	s := newServer(t, telegramtest.Options{RatePerChat: true, Now: func() time.Time { return now }})
	send := func(chat string) answer {
		return call(t, s, "sendMessage", `{"chat_id":`+chat+`,"text":"x"}`)
	}
	if a := send("42"); !a.OK {
		t.Errorf("%+v", a)
	}
	if a := send("42"); a.Code != http.StatusTooManyRequests || a.Parameters.RetryAfter != 1 {
		t.Errorf("second within a second: %+v", a)
	}
	now = now.Add(time.Second)
	if a := send("42"); !a.OK {
		t.Errorf("a second later: %+v", a)
	}
	press := s.Press(42, 1, telegramtest.User{ID: 42}, "x")
	if a := call(t, s, "answerCallbackQuery", `{"callback_query_id":"`+press+`"}`); !a.OK {
		t.Errorf("%+v", a)
	}
	if a := call(t, s, "answerCallbackQuery", `{"callback_query_id":"`+press+`"}`); a.OK {
		t.Error("a press was answered twice")
	}
	s.AddGroup(-5, "group")
	s.Migrate(-5, -1005, true)
	if a := send("-5"); a.Code != http.StatusBadRequest || a.Parameters.MovedTo != -1005 {
		t.Errorf("to a group that moved: %+v", a)
	}
	s.Block(42, "bot was blocked by the user")
	if a := send("42"); a.Code != http.StatusForbidden {
		t.Errorf("blocked: %+v", a)
	}
	s.RevokeToken()
	if a := send("42"); a.Code != http.StatusUnauthorized {
		t.Errorf("revoked: %+v", a)
	}
}
