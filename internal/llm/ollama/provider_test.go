package ollama_test

import (
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
		p, err := ollama.New(llm.Endpoint{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// build makes the provider that calls a literal server.
func build(t *testing.T, root string) llm.Provider { t.Helper(); return provider(t, "m", root) }

func provider(t *testing.T, model, root string) *ollama.Provider {
	t.Helper()
	p, err := ollama.New(llm.Endpoint{Model: model, BaseURL: root, APIKey: secret.New("sk-canary")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	llmtest.RunSettings(t, func(model, base string, key secret.String) (llm.Provider, error) {
		return ollama.New(llm.Endpoint{Model: model, BaseURL: base, APIKey: key})
	})
}

func TestGenerate_NamesAModelWithoutTools(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewLiteral(t, 400, `{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}`)
	p := provider(t, "gemma:2b", srv.URL)
	_, err := p.Generate(t.Context(), llm.Request{Tools: []llm.Card{{Name: "order"}}}, nil)
	if !llm.HasClass(err, llm.NoTools) || !strings.Contains(err.Error(), "ollama/gemma:2b") || len(srv.Sent()) != 1 {
		t.Errorf("%v after %d requests", err, len(srv.Sent()))
	}
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	llmtest.RunRefused(t, build, nil, map[string]llmtest.Refused{
		"not pulled":      {Status: 404, Body: `{"error":"model \"m\" not found, try pulling it first"}`, Want: llm.BadRequest},
		"proxy's object":  {Status: 401, Body: `{"error":{"message":"no key"}}`, Want: llm.Auth},
		"too long in 500": {Status: 500, Body: `{"error":"input length exceeds the context length"}`, Want: llm.ContextTooLong},
		"error in a 200":  {Status: 200, Body: `{"error":"unexpected EOF"}`, Want: llm.Temporary},
		"not done":        {Status: 200, Body: `{"message":{"content":"half"},"done":false}`, Want: llm.Temporary},
		"another's":       {Status: 200, Body: `{"choices":[]}`, Want: llm.Temporary},
	})
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p := provider(t, "m", llmtest.NewLiteral(t, 200, "").URL)
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
			srv := llmtest.NewLiteral(t, tc.status, tc.body)
			p := provider(t, "m", srv.URL)
			err := p.Check(t.Context(), tc.tools)
			if tc.want == "" && err != nil || tc.want != "" && !llm.HasClass(err, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff("POST /api/show "+`{"model":"m"}`, srv.Sent()[0].Target+" "+srv.Sent()[0].Body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
