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
		p, err := gemini.New(llm.Endpoint{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// build makes the provider that calls a literal server.
func build(t *testing.T, root string) llm.Provider { t.Helper(); return provider(t, "m", root) }

func provider(t *testing.T, model, root string) *gemini.Provider {
	t.Helper()
	p, err := gemini.New(llm.Endpoint{Model: model, BaseURL: root, APIKey: secret.New("sk-canary")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	llmtest.RunSettings(t, func(model, base string, key secret.String) (llm.Provider, error) {
		return gemini.New(llm.Endpoint{Model: model, BaseURL: base, APIKey: key})
	})
}

const fine = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`

// A model may be a whole resource name; from the third generation on, a call
// that another model made needs a signature.
func TestGenerate_ModelNames(t *testing.T) {
	t.Parallel()
	for model, tc := range map[string]struct {
		path   string
		signed bool
	}{
		"gemini-2.5-flash":        {"models/gemini-2.5-flash", false},
		"models/gemini-3-pro":     {"models/gemini-3-pro", true},
		"tunedModels/bakery v2/x": {"tunedModels/bakery%20v2/x", false},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.NewLiteral(t, 200, fine)
			req := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: "order"}}, From: "other/m"}}}
			if _, err := provider(t, model, srv.URL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			got := srv.Sent()[0]
			if want := "POST /v1beta/" + tc.path + ":generateContent"; got.Target != want {
				t.Errorf("asked %q, want %q", got.Target, want)
			}
			if signed := strings.Contains(got.Body, `"thoughtSignature":"skip_thought_signature_validator"`); signed != tc.signed {
				t.Errorf("signed %v: %s", signed, got.Body)
			}
		})
	}
}

// Signatures come back in the part they came with: the call's and the text's.
func TestGenerate_SignaturesComeBack(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewLiteral(t, 200, `{"candidates":[{"content":{"parts":[{"text":"Well","thoughtSignature":"s-text"},`+
		`{"functionCall":{"name":"order","args":{}},"thoughtSignature":"s-call"},{"functionCall":{"name":"order","args":{}}}]},"finishReason":"STOP"}]}`)
	p := provider(t, "gemini-3-pro", srv.URL)
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
	if body := srv.Sent()[1].Body; !strings.Contains(body, want) {
		t.Errorf("got %s", body)
	}
}

func cardsOnly() llm.Request {
	return llm.Request{Tools: []llm.Card{{Name: "order", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}}}
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
	p, err := gemini.New(llm.Endpoint{Model: "m", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := p.Generate(t.Context(), cardsOnly(), nil); err != nil || got.Text != "x" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[2], `"parameters":{"properties":{"n":{"type":"INTEGER"}},"type":"OBJECT"}`) {
		t.Errorf("%d requests: %q", len(bodies), bodies)
	}
	cards, err := p.EncodeCards(cardsOnly().Tools)
	if err != nil || !strings.Contains(string(cards), `"parameters":`) {
		t.Errorf("%s, %v", cards, err)
	}
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	llmtest.RunRefused(t, build, func(body string) string { return "data: " + body + "\n\n" }, map[string]llmtest.Refused{
		"blocked":           {Status: 200, Body: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, Want: llm.Filtered},
		"malformed call":    {Status: 200, Body: `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, Want: llm.Temporary},
		"no candidates":     {Status: 200, Body: `{"candidates":[]}`, Want: llm.Temporary},
		"an error in a 200": {Status: 200, Body: `{"error":{"code":429,"message":"slow"}}`, Want: llm.RateLimited},
		"a list":            {Status: 429, Body: `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, Want: llm.RateLimited},
		"bad key":           {Status: 400, Body: `{"error":{"message":"API key not valid. Please pass a valid API key."}}`, Want: llm.Auth},
		"forbidden":         {Status: 403, Body: `{"error":{"message":"Permission denied","status":"PERMISSION_DENIED"}}`, Want: llm.Auth},
		"overloaded 500":    {Status: 500, Body: `{"error":{"message":"The model is overloaded."}}`, Want: llm.Overloaded},
		"cancelled there":   {Status: 499, Body: `{"error":{"status":"CANCELLED"}}`, Want: llm.Temporary},
		"no such model":     {Status: 404, Body: `{"error":{"message":"models/m is not found","status":"NOT_FOUND"}}`, Want: llm.BadRequest},
	})
}

func TestNew_RefusesAModelThatIsAPath(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"..", "models/../x", "models/", "/m"} {
		if _, err := gemini.New(llm.Endpoint{Model: model}); err == nil {
			t.Errorf("%q is taken", model)
		}
	}
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p := provider(t, "m", llmtest.NewLiteral(t, 200, "").URL)
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
			srv := llmtest.NewLiteral(t, tc.status, tc.body)
			p := provider(t, "m", srv.URL)
			err := p.Check(t.Context(), true)
			if tc.want == "" && err != nil || tc.want != "" && (!llm.HasClass(err, tc.want) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if srv.Sent()[0].Target != "GET /v1beta/models/m" {
				t.Errorf("asked %q", srv.Sent()[0].Target)
			}
		})
	}
}
