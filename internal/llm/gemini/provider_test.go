package gemini_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/gemini"
	"github.com/parley-bot/parley/internal/llm/llmtest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestProvider_Conformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, dialect{}, func(t *testing.T, s llmtest.Setup) llm.Provider {
		t.Helper()
		p, err := gemini.New(gemini.Config{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// sent is one request that a fake got.
type sent struct{ target, body string }

// serve answers every request with one literal body.
func serve(t *testing.T, model string, status int, body string) (*gemini.Provider, *[]sent) {
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
	p, err := gemini.New(gemini.Config{Model: model, BaseURL: srv.URL, HTTPClient: srv.Client(), APIKey: secret.New("sk-canary")})
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
	for name, cfg := range map[string]gemini.Config{
		"no model":       {APIKey: key},
		"no scheme":      {Model: "m", APIKey: key, BaseURL: "api.example.com"},
		"another scheme": {Model: "m", APIKey: key, BaseURL: "ftp://x"},
		"a password":     {Model: "m", APIKey: key, BaseURL: "http://u:sk-canary@x"},
		"not a URL":      {Model: "m", APIKey: key, BaseURL: "http://sk-canary\x7f/"},
	} {
		_, err := gemini.New(cfg)
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: shows the key: %v", name, err)
		}
	}
	if p, err := gemini.New(gemini.Config{Model: "m"}); err != nil || p.Name() != "gemini" || p.Model() != "m" {
		t.Errorf("the defaults aren't enough: %v", err)
	}
}

const fine = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`

func TestGenerate_WireForm(t *testing.T) {
	t.Parallel()
	for model, tc := range map[string]struct{ path, signature string }{
		"gemini-2.5-flash":        {"models/gemini-2.5-flash", ""},
		"models/gemini-3-pro":     {"models/gemini-3-pro", `,"thoughtSignature":"skip_thought_signature_validator"`},
		"tunedModels/bakery v2/x": {"tunedModels/bakery%20v2/x", ""},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			p, got := serve(t, model, 200, fine)
			if _, err := p.Generate(t.Context(), step(), nil); err != nil {
				t.Fatal(err)
			}
			want := sent{"POST /v1beta/" + tc.path + ":generateContent", `{"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"Today is Monday."}]},` +
				`"contents":[{"role":"user","parts":[{"text":"<two> croissants"}]},` +
				`{"role":"model","parts":[{"text":"Well:"},{"functionCall":{"id":"call00001","name":"order","args":{"n":2}}` + tc.signature + `},{"functionCall":{"id":"call00002","name":"order","args":{"invalid_json":"{"}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"call00001","name":"order","response":{"output":"P-1"}}},{"functionResponse":{"id":"call00002","name":"order","response":{"error":"no_result"}}}]},` +
				`{"role":"user","parts":[{"text":"quick"}]}],` +
				`"tools":[{"functionDeclarations":[{"name":"order","description":"Orders.","parametersJsonSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}],"generationConfig":{"maxOutputTokens":9}}`}
			if diff := cmp.Diff(want, (*got)[0], cmp.AllowUnexported(sent{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Signatures come back in the part they came with: the call's and the text's.
func TestGenerate_SignaturesComeBack(t *testing.T) {
	t.Parallel()
	p, got := serve(t, "gemini-3-pro", 200, `{"candidates":[{"content":{"parts":[{"text":"Well","thoughtSignature":"s-text"},`+
		`{"functionCall":{"name":"order","args":{}},"thoughtSignature":"s-call"},{"functionCall":{"name":"order","args":{}}}]},"finishReason":"STOP"}]}`)
	first, err := p.Generate(t.Context(), llm.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	next := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Text: first.Text, Calls: first.Calls, Opaque: first.Opaque}}}
	if _, err := p.Generate(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"model","parts":[{"text":"Well","thoughtSignature":"s-text"},{"functionCall":{"id":"call00001","name":"order","args":{}},"thoughtSignature":"s-call"},` +
		`{"functionCall":{"id":"call00002","name":"order","args":{}}}]}`
	if body := (*got)[1].body; !strings.Contains(body, want) {
		t.Errorf("got %s", body)
	}
}

// A server that doesn't know JSON Schema is asked again with the subset, once.
func TestGenerate_FallsBackToTheSubset(t *testing.T) {
	t.Parallel()
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&raw)
		bodies = append(bodies, string(raw))
		if strings.Contains(string(raw), "parametersJsonSchema") {
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.","status":"INVALID_ARGUMENT"}}`))
			return
		}
		_, _ = w.Write([]byte(fine))
	}))
	t.Cleanup(srv.Close)
	p, err := gemini.New(gemini.Config{Model: "m", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := p.Generate(t.Context(), step(), nil); err != nil || got.Text != "x" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[2], `"parameters":{"properties":{"n":{"type":"INTEGER"}},"type":"OBJECT"}`) {
		t.Errorf("%d requests: %q", len(bodies), bodies)
	}
	cards, err := p.EncodeCards(step().Tools)
	if err != nil || !strings.Contains(string(cards), `"parameters":`) {
		t.Errorf("%s, %v", cards, err)
	}
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"blocked":           {200, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, llm.Filtered},
		"malformed call":    {200, `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, llm.Temporary},
		"no candidates":     {200, `{"candidates":[]}`, llm.Temporary},
		"an error in a 200": {200, `{"error":{"code":429,"message":"slow"}}`, llm.RateLimited},
		"a list":            {429, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, llm.RateLimited},
		"bad key":           {400, `{"error":{"message":"API key not valid. Please pass a valid API key."}}`, llm.Auth},
		"forbidden":         {403, `{"error":{"message":"Permission denied","status":"PERMISSION_DENIED"}}`, llm.Auth},
		"overloaded 500":    {500, `{"error":{"message":"The model is overloaded."}}`, llm.Overloaded},
		"cancelled there":   {499, `{"error":{"status":"CANCELLED"}}`, llm.Temporary},
		"no such model":     {404, `{"error":{"message":"models/m is not found","status":"NOT_FOUND"}}`, llm.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := serve(t, "m", tc.status, tc.body)
			_, err := p.Generate(t.Context(), llm.Request{}, nil)
			if !llm.HasClass(err, tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			p, _ = serve(t, "m", tc.status, "data: "+tc.body+"\n\n")
			if _, err := p.Generate(t.Context(), llm.Request{}, func(string) {}); tc.status == 200 && !llm.HasClass(err, tc.want) {
				t.Errorf("streamed: got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestNew_RefusesAModelThatIsAPath(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"..", "models/../x", "models/", "/m"} {
		if _, err := gemini.New(gemini.Config{Model: model}); err == nil {
			t.Errorf("%q is taken", model)
		}
	}
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, "m", 200, "")
	got, err := p.EncodeCards([]llm.Card{{Name: "b"}})
	want := `[{"functionDeclarations":[{"name":"b","parametersJsonSchema":{"type":"object","properties":{}}}]}]`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"fine":        {200, `{"name":"models/m","supportedGenerationMethods":["generateContent","countTokens"]}`, ""},
		"an embedder": {200, `{"name":"models/m","supportedGenerationMethods":["embedContent"]}`, llm.BadRequest},
		"no such":     {404, `{"error":{"message":"not found"}}`, llm.BadRequest},
		"bad key":     {400, `{"error":{"message":"API key not valid: sk-canary"}}`, llm.Auth},
		"not the API": {200, `<html>`, llm.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, got := serve(t, "m", tc.status, tc.body)
			err := p.Check(t.Context(), true)
			if tc.want == "" && err != nil || tc.want != "" && (!llm.HasClass(err, tc.want) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if (*got)[0].target != "GET /v1beta/models/m" {
				t.Errorf("asked %q", (*got)[0].target)
			}
		})
	}
}
