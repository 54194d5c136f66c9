package config

// Preset is an OpenAI-compatible service that is a provider by name.
type Preset struct {
	Name string
	// BaseURL is where it is, with /v1; "" must be configured.
	BaseURL string
	// Keyless services run on one's own machine.
	Keyless bool
}

// Presets are the OpenAI-compatible providers that need no base_url, and one
// that does (azure).
func Presets() []Preset {
	return []Preset{
		{Name: "azure"},
		{Name: "cerebras", BaseURL: "https://api.cerebras.ai/v1"},
		{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1"},
		{Name: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1"},
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1"},
		{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Keyless: true},
		{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Keyless: true},
		{Name: "mistral", BaseURL: "https://api.mistral.ai/v1"},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1"},
		{Name: "together", BaseURL: "https://api.together.xyz/v1"},
		{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Keyless: true},
		{Name: "xai", BaseURL: "https://api.x.ai/v1"},
	}
}

func knownProviders() []string {
	out := []string{"openai", "anthropic", "gemini", "ollama", "script"}
	for _, p := range Presets() {
		out = append(out, p.Name)
	}
	return out
}

func knownChannels() []string {
	return []string{"webchat", "telegram", "discord", "whatsapp_cloud", "whatsapp_web", "twilio", "console"}
}

func knownTools() []string { return []string{"script", "http", "sql", "mcp"} }
