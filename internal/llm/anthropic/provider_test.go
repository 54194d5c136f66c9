package anthropic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/anthropic"
	"github.com/parley-bot/parley/internal/llm/llmtest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestProvider_Conformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, dialect{}, func(t *testing.T, s llmtest.Setup) llm.Provider {
		t.Helper()
		p, err := anthropic.New(anthropic.Config{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// sent is one request that a fake got.
type sent struct{ target, body string }

// serve answers every request with one literal body.
func serve(t *testing.T, model string, status int, body string) (*anthropic.Provider, *[]sent) {
	t.Helper()
	var got []sent
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&raw)
		got = append(got, sent{r.Method + " " + r.URL.String(), string(raw)})
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	p, err := anthropic.New(anthropic.Config{Model: model, BaseURL: srv.URL, HTTPClient: srv.Client(), APIKey: secret.New("sk-canary")})
	if err != nil {
		t.Fatal(err)
	}
	return p, &got
}

// step is a request in the middle of a turn: one call done, one missing.
func step() llm.Request {
	return llm.Request{
		System: []string{"Be brief.", "", "Today is Monday."}, MaxTokens: 9,
		Tools: []llm.Card{{Name: "order", Description: "Orders.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "<two> croissants"},
			{Role: llm.RoleAssistant, Text: "Well:", Calls: []llm.Call{{ID: "t.1.0", Name: "order", Args: `{"n":2}`}, {ID: "t.1.1", Name: "order", Args: "{"}}, From: "other/m"},
			{Role: llm.RoleTool, Results: []llm.Result{{CallID: "t.1.0", Name: "order", Content: "P-1"}}},
			{Role: llm.RoleUser, Text: "quick"},
		},
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	key := secret.New("sk-canary")
	for name, cfg := range map[string]anthropic.Config{
		"no model":       {APIKey: key},
		"no scheme":      {Model: "m", APIKey: key, BaseURL: "api.example.com"},
		"another scheme": {Model: "m", APIKey: key, BaseURL: "ftp://x"},
		"a password":     {Model: "m", APIKey: key, BaseURL: "http://u:sk-canary@x"},
		"not a URL":      {Model: "m", APIKey: key, BaseURL: "http://sk-canary\x7f/"},
	} {
		_, err := anthropic.New(cfg)
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: shows the key: %v", name, err)
		}
	}
	if p, err := anthropic.New(anthropic.Config{Model: "m"}); err != nil || p.Name() != "anthropic" || p.Model() != "m" {
		t.Errorf("the defaults aren't enough: %v", err)
	}
}

func TestGenerate_WireForm(t *testing.T) {
	t.Parallel()
	p, got := serve(t, "m", 200, `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`)
	if _, err := p.Generate(t.Context(), step(), nil); err != nil {
		t.Fatal(err)
	}
	want := sent{"POST /v1/messages", `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Today is Monday."}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"\u003ctwo\u003e croissants"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"Well:"},{"type":"tool_use","id":"call00001","name":"order","input":{"n":2}},{"type":"tool_use","id":"call00002","name":"order","input":{"invalid_json":"{"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call00001","content":"P-1"},{"type":"tool_result","tool_use_id":"call00002","content":"{\"error\":\"no_result\"}","is_error":true},{"type":"text","text":"quick"}]}],` +
		`"tools":[{"name":"order","description":"Orders.","input_schema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`}
	if diff := cmp.Diff(want, (*got)[0], cmp.AllowUnexported(sent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := p.Generate(t.Context(), llm.Request{}, nil); err != nil || !strings.Contains((*got)[1].body, `"max_tokens":4096`) {
		t.Errorf("without a bound: %v, %s", err, (*got)[1].body)
	}
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"no money":          {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, llm.Auth},
		"too large":         {413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ContextTooLong},
		"input and output":  {400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 1 + 2 > 3"}}`, llm.ContextTooLong},
		"forbidden":         {403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, llm.Auth},
		"no such model":     {404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`, llm.BadRequest},
		"timeout":           {504, `{"type":"error","error":{"type":"timeout_error","message":"x"}}`, llm.Timeout},
		"overloaded in 200": {200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded},
		"limited in 200":    {200, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, llm.RateLimited},
		"another's answer":  {200, `{"choices":[]}`, llm.Temporary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := serve(t, "m", tc.status, tc.body)
			if _, err := p.Generate(t.Context(), llm.Request{}, nil); !llm.HasClass(err, tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestGenerate_OddAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream bool
		body   string
		want   llm.Response
	}{
		"calls at end_turn": {body: `{"content":[{"type":"tool_use","id":"a","name":"t","input":{}}],"stop_reason":"end_turn"}`,
			want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
		"tool_use without any": {body: `{"content":[],"stop_reason":"tool_use"}`, want: llm.Response{Stop: llm.StopOther}},
		"hidden thinking": {body: `{"content":[{"type":"redacted_thinking","data":"d"},{"type":"server_thing"}],"stop_reason":"pause_turn"}`,
			want: llm.Response{Stop: llm.StopOther, Opaque: json.RawMessage(`[{"type":"redacted_thinking","data":"d"}]`)}},
		"window full": {body: `{"content":[{"type":"text","text":"a"}],"stop_reason":"model_context_window_exceeded"}`, want: llm.Response{Text: "a", Stop: llm.StopLength}},
		"a whole answer to a stream": {stream: true, body: "\n" + `{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`,
			want: llm.Response{Text: "a", Stop: llm.StopEnd}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := serve(t, "m", 200, tc.body)
			var onText func(string)
			if tc.stream {
				onText = func(string) {}
			}
			got, err := p.Generate(t.Context(), llm.Request{}, onText)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.From = "anthropic/m"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, "m", 200, "")
	got, err := p.EncodeCards([]llm.Card{{Name: "a", Description: "d", Schema: json.RawMessage(` {"type":"object"} `)}, {Name: "b"}})
	want := `[{"name":"a","description":"d","input_schema":{"type":"object","properties":{}}},{"name":"b","input_schema":{"type":"object","properties":{}}}]`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p, got := serve(t, "claude/x", 200, `{"type":"model","id":"claude/x"}`)
	if err := p.Check(t.Context(), true); err != nil || (*got)[0].target != "GET /v1/models/claude%2Fx" {
		t.Errorf("%v, %v", err, *got)
	}
	p, _ = serve(t, "m", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-canary"}}`)
	if err := p.Check(t.Context(), true); !llm.HasClass(err, llm.Auth) || strings.Contains(err.Error(), "canary") {
		t.Errorf("a bad key: %v", err)
	}
	p, _ = serve(t, "m", 200, "<html>")
	if err := p.Check(t.Context(), true); !llm.HasClass(err, llm.BadRequest) {
		t.Errorf("not the API: %v", err)
	}
}
