package starter

import (
	"fmt"
	"strings"
)

// Variable is what has to be in the environment before a bot starts.
type Variable struct {
	Name string
	// Hint says where its value comes from, or how it looks.
	Hint string
}

// Channel is a place to write to that a new bot can have.
type Channel struct {
	// Name is its key under channels, Kind what Config.Kind of that channel
	// becomes.
	Name, Kind string
	// Title is what people know it by.
	Title string
	// Public is whether the platform calls the bot, at server.public_url.
	Public bool
	// Linked is whether a device has to be linked to it (parley pair).
	Linked bool
	// Page is the document about it.
	Page      string
	variables []Variable
	yaml      string
}

// Model is what can answer in a new bot.
type Model struct {
	// Name is its provider.
	Name      string
	Title     string
	variables []Variable
	yaml      string
}

// PublicURL is the variable for server.public_url.
const PublicURL = "PUBLIC_URL"

// Channels are all that can be chosen, the default first.
func Channels() []Channel {
	return []Channel{
		{
			Name: "web", Kind: "webchat", Title: "web chat", Page: "docs/web-chat-api.md",
			yaml: `    kind: webchat             # http://127.0.0.1:8080/chat/
    # Sites that may embed the chat or call its API.
    # origins: [https://www.example.com]
`,
		},
		{
			Name: "telegram", Kind: "telegram", Title: "Telegram", Page: "docs/telegram.md",
			variables: []Variable{{"TELEGRAM_TOKEN", "what @BotFather gave you"}},
			yaml: `    token: ${TELEGRAM_TOKEN}  # or token_file: /run/secrets/telegram
    # Who may write; without it everybody.
    # allow: ["123456789"]
`,
		},
		{
			Name: "discord", Kind: "discord", Title: "Discord", Page: "docs/discord.md",
			variables: []Variable{{"DISCORD_TOKEN", "discord.com/developers/applications: Bot, Reset Token"}},
			yaml: `    token: ${DISCORD_TOKEN}   # or token_file: /run/secrets/discord
`,
		},
		{
			Name: "whatsapp", Kind: "whatsapp_cloud", Title: "WhatsApp, by Meta's Cloud API", Page: "docs/whatsapp-cloud.md", Public: true,
			variables: []Variable{
				{"WHATSAPP_PHONE_NUMBER_ID", "API setup: the id of the number, digits"},
				{"WHATSAPP_WABA_ID", "API setup: the id of the business account, digits"},
				{"WHATSAPP_TOKEN", "of a system user"},
				{"WHATSAPP_APP_SECRET", "the app's basic settings"},
				{"WHATSAPP_VERIFY", "any word of yours"},
			},
			yaml: `    kind: whatsapp_cloud
    phone_number_id: ${WHATSAPP_PHONE_NUMBER_ID}
    waba_id: ${WHATSAPP_WABA_ID}
    access_token: ${WHATSAPP_TOKEN}         # or access_token_file, and so on
    app_secret: ${WHATSAPP_APP_SECRET}
    verify_token: ${WHATSAPP_VERIFY}
`,
		},
		{
			Name: "wa_web", Kind: "whatsapp_web", Title: "WhatsApp as a linked device (unofficial: the account can be banned)",
			Page: "docs/whatsapp-web.md", Linked: true,
			yaml: `    kind: whatsapp_web        # unofficial: use a number that you can do without
`,
		},
		{
			Name: "sms", Kind: "twilio", Title: "SMS and WhatsApp, by Twilio", Page: "docs/twilio.md", Public: true,
			variables: []Variable{
				{"TWILIO_ACCOUNT_SID", "AC…"},
				{"TWILIO_AUTH_TOKEN", "the account's primary auth token"},
				{"TWILIO_FROM", "+15550002222, or whatsapp:+15550002222"},
			},
			yaml: `    kind: twilio
    account_sid: ${TWILIO_ACCOUNT_SID}
    auth_token: ${TWILIO_AUTH_TOKEN}        # or auth_token_file: /run/secrets/twilio
    from: ${TWILIO_FROM}
`,
		},
	}
}

// Models are all that can be chosen, the default first.
func Models() []Model {
	return []Model{
		{Name: "script", Title: "a script of rules, without an account", yaml: "  script: model.yaml\n"},
		remote("openai", "OpenAI, or a server that speaks its API", "gpt-5-mini", "OPENAI_API_KEY", "platform.openai.com",
			"  # Any other server that speaks OpenAI's chat completions: its address, with /v1\n  # base_url: https://llm.example.com/v1\n"),
		remote("anthropic", "Anthropic's Claude", "claude-sonnet-4-5", "ANTHROPIC_API_KEY", "console.anthropic.com", ""),
		remote("gemini", "Google's Gemini", "gemini-2.5-flash", "GEMINI_API_KEY", "aistudio.google.com", ""),
		{
			Name: "ollama", Title: "a model on this machine, by Ollama",
			yaml: "  name: qwen3:8b              # ollama pull qwen3:8b; it has to take tools\n  # base_url: http://127.0.0.1:11434\n",
		},
	}
}

// remote is a model behind a key.
func remote(provider, title, name, variable, where, more string) Model {
	return Model{
		Name: provider, Title: title, variables: []Variable{{variable, where}},
		yaml: fmt.Sprintf("  name: %s\n  api_key: ${%s}  # or api_key_file: /run/secrets/%s\n%s", name, variable, provider, more) +
			"  # timeout: 30s              # of one call\n" +
			"  # max_tokens: 1024          # of one answer\n",
	}
}

// Bot is what was chosen.
type Bot struct {
	Channels []Channel
	Model    Model
}

// Names are those of the built-in files that the bot consists of.
func (b Bot) Names() []string {
	names := []string{"parley.yaml", "tools.ts"}
	if b.Model.Name == "script" {
		names = append(names, "model.yaml")
	}
	return names
}

// Public is whether one of the platforms calls the bot.
func (b Bot) Public() bool {
	for _, c := range b.Channels {
		if c.Public {
			return true
		}
	}
	return false
}

// Variables are all that the configuration refers to, in its order.
func (b Bot) Variables() []Variable {
	out := append([]Variable(nil), b.Model.variables...)
	for _, c := range b.Channels {
		out = append(out, c.variables...)
	}
	if b.Public() {
		out = append(out, Variable{PublicURL, "https://bot.example.com, where the platforms reach parley serve"})
	}
	return out
}

// Config is parley.yaml with what was chosen. It fails only where the built-in
// file isn't what it is taken for.
func (b Bot) Config() ([]byte, error) {
	text, err := Files.ReadFile("parley.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the built-in parley.yaml: %w", err)
	}
	out := string(text)
	if b.Model.Name != "script" {
		if out, err = replace(out, "\n# What answers.", "# What answers.\nmodel:\n  provider: "+b.Model.Name+"\n"+b.Model.yaml); err != nil {
			return nil, err
		}
	}
	var y strings.Builder
	for _, c := range b.Channels {
		fmt.Fprintf(&y, "  %s:                        # %s\n%s", c.Name, c.Page, c.yaml)
	}
	places := "channels:\n" + y.String()
	if y.Len() == 0 {
		places = "channels:\n  terminal:\n    kind: console             # that of parley chat, and of parley serve\n"
	}
	if out, err = replace(out, "\n# Where people write.", "# Where people write. The key is the channel's name; several of a kind are fine.\n"+places); err != nil {
		return nil, err
	}
	if b.Public() {
		const off = "# server:\n#   listen: 127.0.0.1:8080\n#   public_url: https://bot.example.com\n"
		if !strings.Contains(out, off) {
			return nil, fmt.Errorf("the built-in parley.yaml has no %q", off)
		}
		out = strings.Replace(out, off, "server:\n  public_url: ${"+PublicURL+"}  # the platforms call it\n#   listen: 127.0.0.1:8080\n", 1)
		out = strings.NewReplacer("\n#   trusted_proxies:", "\n  # trusted_proxies:", "\n#   metrics_listen:", "\n  # metrics_listen:",
			"\n#   listen:", "\n  # listen:").Replace(out)
	}
	if !b.has("webchat") {
		const open = "Start it with `parley serve` in this folder, then open\n# http://127.0.0.1:8080/chat/ ; `parley chat`"
		if !strings.Contains(out, open) {
			return nil, fmt.Errorf("the built-in parley.yaml has no %q", open)
		}
		out = strings.Replace(out, open, "Start it with `parley serve` in this folder. `parley chat`", 1)
	}
	return []byte(out), nil
}

func (b Bot) has(kind string) bool {
	for _, c := range b.Channels {
		if c.Kind == kind {
			return true
		}
	}
	return false
}

// replace puts a section in the place of the one that begins with start; it
// ends at an empty line.
func replace(text, start, section string) (string, error) {
	before, rest, ok := strings.Cut(text, start)
	_, after, closed := strings.Cut(rest, "\n\n")
	if !ok || !closed {
		return "", fmt.Errorf("the built-in parley.yaml has no section %q", strings.TrimSpace(start))
	}
	return before + "\n" + section + "\n" + after, nil
}
