package openai

import (
	"errors"
	"net/url"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// presets are the servers that copy the API, with what of them is peculiar.
// What concerns answers and errors (finish reasons, codes) is read from every
// server alike: see answer.response and failure.class.
func presets() map[string]Config {
	return map[string]Config{
		"openai": {Endpoint: at(defaultBase)},
		// The resource's own address; see azureEndpoint.
		"azure":    {KeyHeader: "Api-Key"},
		"cerebras": {Endpoint: at("https://api.cerebras.ai/v1")},
		// Wants reasoning_content back with calls, and has a finish reason of its
		// own: insufficient_system_resource.
		"deepseek":  {Endpoint: at("https://api.deepseek.com/v1")},
		"fireworks": {Endpoint: at("https://api.fireworks.ai/inference/v1")},
		// Refuses a call that its model wrote wrongly: tool_use_failed.
		"groq": {Endpoint: at("https://api.groq.com/openai/v1")},
		// Says by --jinja that it was started without tools.
		"llamacpp": {Endpoint: at("http://localhost:8080/v1")},
		"lmstudio": {Endpoint: at("http://localhost:1234/v1")},
		// Refuses fields that it doesn't know, and ids that aren't nine letters
		// and digits; ends at its window with model_length.
		"mistral": {Endpoint: at("https://api.mistral.ai/v1"), NoStreamOptions: true},
		// Tells of a failed model in a 200, or by the finish reason error; wants
		// reasoning_details back.
		"openrouter": {Endpoint: at("https://openrouter.ai/api/v1")},
		// Ends with eos.
		"together": {Endpoint: at("https://api.together.xyz/v1")},
		// Its errors are no object within error.
		"vllm": {Endpoint: at("http://localhost:8000/v1")},
		"xai":  {Endpoint: at("https://api.x.ai/v1")},
	}
}

func at(base string) llm.Endpoint { return llm.Endpoint{BaseURL: base} }

// Preset returns the part of a Config that a known server needs: Name, BaseURL
// and its peculiarities. ok is false for a name that isn't known. azure has no
// BaseURL: it is the resource's own.
func Preset(name string) (cfg Config, ok bool) {
	cfg, ok = presets()[name]
	if ok {
		cfg.Name = name
	}
	return cfg, ok
}

// azureEndpoint is where a deployment answers. Azure has two forms, of which
// the first is the newer:
//
//	https://NAME.openai.azure.com/openai/v1           the deployment is the model of the body
//	https://NAME.openai.azure.com?api-version=VERSION the deployment is part of the path
//
// Source: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
func azureEndpoint(base *url.URL, model string) (*url.URL, error) {
	path := strings.TrimSuffix(base.Path, "/")
	switch {
	case strings.HasSuffix(path, "/v1"), strings.Contains(path, "/deployments/"):
		return base.JoinPath("chat", "completions"), nil
	case base.Query().Get("api-version") == "":
		return nil, errors.New("base_url of provider azure: end it in /openai/v1, or add ?api-version=…")
	case !strings.HasSuffix(path, "/openai"):
		base = base.JoinPath("openai")
	}
	return base.JoinPath("deployments", url.PathEscape(model), "chat", "completions"), nil
}
