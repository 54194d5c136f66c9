// Command fakediscordtest runs discordtest's Discord as a process of its own,
// for tests that aren't written in Go. It owns the way in: one request a line
// of JSON on its input, one answer a line on its output, the first of which
// says where the platform is. It ends with its input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// request is what the platform's people do, or what happens to it.
type request struct {
	Do      string   `json:"do"`
	User    string   `json:"user"`
	Channel string   `json:"channel"`
	Text    string   `json:"text"`
	Message string   `json:"message"`
	Button  string   `json:"button"`
	Options []string `json:"options"`
	ID      string   `json:"id"`
	URL     string   `json:"url"`
}

func main() {
	fake := discordtest.New(discordtest.Options{})
	defer fake.Close()
	out := json.NewEncoder(os.Stdout)
	say := func(v any) {
		if err := out.Encode(v); err != nil {
			os.Exit(1) // nobody listens
		}
	}
	say(map[string]string{
		"api": fake.URL(), "gateway": fake.GatewayURL(), "token": discordtest.Token(), "publicKey": fake.PublicKey(),
		"guild": discordtest.GuildID, "channel": discordtest.TextID, "bot": discordtest.BotID,
	})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			say(map[string]string{"error": err.Error()})
			continue
		}
		say(map[string]any{"result": do(fake, r)})
	}
}

func do(fake *discordtest.Server, r request) any {
	user := discordtest.User{ID: r.User, Name: "Ana", Locale: "en-US"}
	switch r.Do {
	case "dm":
		return fake.DM(user)
	case "say":
		return fake.Say(user, r.Channel, r.Text, nil)
	case "press":
		return fake.Press(user, r.Channel, r.Message, r.Button)
	case "command":
		return fake.Command(user, r.Channel, r.Text, r.Options...)
	case "messages":
		return fake.Bots(r.Channel)
	case "notices":
		return fake.Notices(r.User)
	case "answered":
		kind, original := fake.Answered(r.ID)
		return map[string]any{"kind": kind, "original": original}
	case "body":
		return json.RawMessage(fake.Body(r.ID))
	case "endpoint":
		fake.UseEndpoint(r.URL)
	case "reset":
		fake.Reset()
	case "restart":
		fake.Restart()
	case "connected":
		return fake.Connected()
	case "identified":
		return fake.Identified()
	case "violations":
		return fake.Violations()
	default:
		return fmt.Sprintf("%q is not known", r.Do)
	}
	return nil
}
