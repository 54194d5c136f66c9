package ollama_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
	"github.com/parley-bot/parley/internal/llm/ollama"
	"github.com/parley-bot/parley/internal/secret"
)

func TestProvider_Conformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, dialect{}, func(t *testing.T, s llmtest.Setup) llm.Provider {
		t.Helper()
		p, err := ollama.New(ollama.Config{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// sent is one request that a fake got.
type sent struct{ target, body string }

// serve answers every request with one literal body.
func serve(t *testing.T, model string, status int, body string) (*ollama.Provider, *[]sent) {
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
	p, err := ollama.New(ollama.Config{Model: model, BaseURL: srv.URL, HTTPClient: srv.Client(), APIKey: secret.New("sk-canary")})
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
	for name, cfg := range map[string]ollama.Config{
		"no model":       {APIKey: key},
		"no scheme":      {Model: "m", APIKey: key, BaseURL: "api.example.com"},
		"another scheme": {Model: "m", APIKey: key, BaseURL: "ftp://x"},
		"a password":     {Model: "m", APIKey: key, BaseURL: "http://u:sk-canary@x"},
		"not a URL":      {Model: "m", APIKey: key, BaseURL: "http://sk-canary\x7f/"},
	} {
		_, err := ollama.New(cfg)
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: shows the key: %v", name, err)
		}
	}
	if p, err := ollama.New(ollama.Config{Model: "m"}); err != nil || p.Name() != "ollama" || p.Model() != "m" {
		t.Errorf("the defaults aren't enough: %v", err)
	}
}

func TestGenerate_WireForm(t *testing.T) {
	t.Parallel()
	p, got := serve(t, "m:7b", 200, `{"message":{"content":"x"},"done":true,"done_reason":"stop"}`)
	if _, err := p.Generate(t.Context(), step(), nil); err != nil {
		t.Fatal(err)
	}
	want := sent{"POST /api/chat", `{"model":"m:7b","messages":[{"role":"system","content":"Be brief.\n\nToday is Monday."},{"role":"user","content":"\u003ctwo\u003e croissants"},` +
		`{"role":"assistant","content":"Well:","tool_calls":[{"id":"call00001","function":{"name":"order","arguments":{"n":2}}},{"id":"call00002","function":{"name":"order","arguments":{"invalid_json":"{"}}}]},` +
		`{"role":"tool","content":"P-1","tool_name":"order","tool_call_id":"call00001"},{"role":"tool","content":"{\"error\":\"no_result\"}","tool_name":"order","tool_call_id":"call00002"},` +
		`{"role":"user","content":"quick"}],` +
		`"tools":[{"type":"function","function":{"name":"order","description":"Orders.","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}],"stream":false,"options":{"num_predict":9}}`}
	if diff := cmp.Diff(want, (*got)[0], cmp.AllowUnexported(sent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGenerate_NamesAModelWithoutTools(t *testing.T) {
	t.Parallel()
	p, got := serve(t, "gemma:2b", 400, `{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}`)
	_, err := p.Generate(t.Context(), step(), nil)
	if !llm.HasClass(err, llm.NoTools) || !strings.Contains(err.Error(), "ollama/gemma:2b") || len(*got) != 1 {
		t.Errorf("%v after %d requests", err, len(*got))
	}
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"not pulled":      {404, `{"error":"model \"m\" not found, try pulling it first"}`, llm.BadRequest},
		"proxy's object":  {401, `{"error":{"message":"no key"}}`, llm.Auth},
		"too long in 500": {500, `{"error":"input length exceeds the context length"}`, llm.ContextTooLong},
		"error in a 200":  {200, `{"error":"unexpected EOF"}`, llm.Temporary},
		"not done":        {200, `{"message":{"content":"half"},"done":false}`, llm.Temporary},
		"another's":       {200, `{"choices":[]}`, llm.Temporary},
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

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, "m", 200, "")
	got, err := p.EncodeCards([]llm.Card{{Name: "b"}})
	want := `[{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}}]`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		tools  bool
		want   llm.Class
	}{
		"takes tools":            {200, `{"details":{},"capabilities":["completion","tools"]}`, true, ""},
		"takes none":             {200, `{"details":{},"capabilities":["completion"]}`, true, llm.NoTools},
		"takes none, needs none": {200, `{"details":{},"capabilities":["completion"]}`, false, ""},
		"an embedder":            {200, `{"details":{},"capabilities":["embedding"]}`, false, llm.BadRequest},
		"an old server":          {200, `{"details":{"family":"llama"}}`, true, ""},
		"not pulled":             {404, `{"error":"model 'm' not found"}`, true, llm.BadRequest},
		"not the API":            {200, `{}`, true, llm.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, got := serve(t, "m", tc.status, tc.body)
			err := p.Check(t.Context(), tc.tools)
			if tc.want == "" && err != nil || tc.want != "" && !llm.HasClass(err, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(sent{"POST /api/show", `{"model":"m"}`}, (*got)[0], cmp.AllowUnexported(sent{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
