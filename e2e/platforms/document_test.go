package platforms

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the files that PARLEY_SPECS may hold: for which platforms, and
// what reads them.
func documents() map[string]struct {
	platforms []string
	open      func(raw []byte) (document, error)
} {
	return map[string]struct {
		platforms []string
		open      func(raw []byte) (document, error)
	}{
		"telegram_bot_api_10.1.json": {[]string{"telegram_polling", "telegram_webhook"}, openBotAPI},
		"discord_openapi_v10.json":   {[]string{"discord_gateway", "discord_commands"}, openDiscord},
		"twilio_api_v2010.json":      {[]string{"twilio_sms", "twilio_whatsapp"}, openOpenAPI},
		"whatsapp_cloud_v23.0.yaml":  {[]string{"whatsapp_cloud"}, openOpenAPI},
	}
}

// document is a platform's own description of its API. check tells what a call
// has that isn't in it; known is false for a call that the document leaves
// out.
type document interface {
	check(c call) (known bool, problems []string)
}

// checkDocument holds calls to the platform's document, where there is one.
func checkDocument(t *testing.T, platform string, calls []call) {
	t.Helper()
	folder := os.Getenv("PARLEY_SPECS")
	for file, d := range documents() {
		if !slices.Contains(d.platforms, platform) {
			continue
		}
		if folder == "" {
			t.Logf("PARLEY_SPECS names no folder: %d calls were held to the fake's own table of the API only", len(calls))
			return
		}
		doc := load(t, filepath.Join(folder, file), d.open)
		checked := map[string]int{}
		for _, c := range calls {
			known, problems := doc.check(c)
			if !known && !asksForNumber(c) {
				t.Errorf("%s %s isn't in the document", c.method, c.path)
			}
			for _, p := range problems {
				t.Errorf("%s: %s; the call was %s", c.path, p, c.body)
			}
			checked[c.path[strings.LastIndexByte(c.path, '/')+1:]]++
		}
		t.Logf("held to %s: %v", file, checked)
	}
}

// asksForNumber tells the call that only asks whether the platform answers, as
// the outbox does before it repeats a message of unknown outcome. The document
// of WhatsApp's Cloud API has another kind of object at that path.
func asksForNumber(c call) bool {
	return c.method == http.MethodGet && regexp.MustCompile(`^/v[0-9.]+/[0-9]+$`).MatchString(c.path)
}

func load(t *testing.T, path string, open func([]byte) (document, error)) document {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("PARLEY_SPECS: %v", err)
	}
	doc, err := open(raw)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return doc
}

// TestDocumentsCanFail shows that each checker finds what is wrong, on small
// documents of its own and on the real ones where they are.
func TestDocumentsCanFail(t *testing.T) {
	t.Parallel()
	const (
		form = "application/x-www-form-urlencoded"
		js   = "application/json"
	)
	for name, tt := range map[string]struct {
		file, small string
		good, bad   call
		badProblem  string
	}{
		"telegram, a field that isn't there": {
			file: "telegram_bot_api_10.1.json", small: smallBotAPI,
			good: call{path: "/botX/sendMessage", kind: js, body: `{"chat_id":1,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"a","callback_data":"b"}]]}}`},
			bad:  call{path: "/botX/sendMessage", kind: js, body: `{"chat_id":1,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"a","data":"b"}]]}}`}, badProblem: "data",
		},
		"telegram, a wrong type": {
			file: "telegram_bot_api_10.1.json", small: smallBotAPI,
			good: call{path: "/botX/sendMessage", kind: form, body: url.Values{"chat_id": {"1"}, "text": {"1"}}.Encode()},
			bad:  call{path: "/botX/sendMessage", kind: js, body: `{"chat_id":1,"text":7}`}, badProblem: "text",
		},
		"telegram, a field that is missing": {
			file: "telegram_bot_api_10.1.json", small: smallBotAPI,
			good: call{path: "/botX/sendMessage", kind: js, body: `{"chat_id":1,"text":"x"}`},
			bad:  call{path: "/botX/sendMessage", kind: js, body: `{"chat_id":1}`}, badProblem: "text",
		},
		"twilio, a parameter that isn't there": {
			file: "twilio_api_v2010.json", small: smallTwilio,
			good: call{method: "POST", path: "/2010-04-01/Accounts/AC1/Messages.json", kind: form, body: "To=%2B1555&Body=x"},
			bad:  call{method: "POST", path: "/2010-04-01/Accounts/AC1/Messages.json", kind: form, body: "To=%2B1555&Bodi=x"}, badProblem: "Bodi",
		},
		"twilio, a SID of a wrong kind": {
			file: "twilio_api_v2010.json", small: smallTwilio,
			good: call{method: "POST", path: "/2010-04-01/Accounts/AC1/Messages.json", kind: form, body: "To=1&ContentSid=HX00000000000000000000000000000001"},
			bad:  call{method: "POST", path: "/2010-04-01/Accounts/AC1/Messages.json", kind: form, body: "To=1&ContentSid=AC00000000000000000000000000000001"}, badProblem: "ContentSid",
		},
		"discord, a wrong type": {
			file: "discord_openapi_v10.json", small: smallDiscord,
			good: call{method: "PATCH", path: "/api/v10/channels/1/messages/2", kind: js, body: `{"content":"x","components":[]}`},
			bad:  call{method: "PATCH", path: "/api/v10/channels/1/messages/2", kind: js, body: `{"content":7}`}, badProblem: "content",
		},
		"discord, a button's label that is too long": {
			file: "discord_openapi_v10.json", small: smallDiscord,
			good: call{method: "POST", path: "/api/v10/channels/1/messages", kind: js, body: discordButton("Yes")},
			bad:  call{method: "POST", path: "/api/v10/channels/1/messages", kind: js, body: discordButton(strings.Repeat("x", 81))}, badProblem: "components",
		},
		"whatsapp, a field that isn't there": {
			file: "whatsapp_cloud_v23.0.yaml", small: smallGraph,
			good: call{method: "POST", path: "/v23.0/100/messages", kind: js, body: graphText(`"text":{"body":"x"}`)},
			bad:  call{method: "POST", path: "/v23.0/100/messages", kind: js, body: graphText(`"text":{"body":"x"},"colour":"red"`)}, badProblem: "",
		},
		"whatsapp, a wrong type": {
			file: "whatsapp_cloud_v23.0.yaml", small: smallGraph,
			good: call{method: "POST", path: "/v23.0/100/messages", kind: js, body: graphText(`"text":{"body":"x"},"biz_opaque_callback_data":"k"`)},
			bad:  call{method: "POST", path: "/v23.0/100/messages", kind: js, body: graphText(`"text":{"body":7}`)}, badProblem: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := documents()[tt.file]
			small, err := d.open([]byte(tt.small))
			if err != nil {
				t.Fatal(err)
			}
			docs := []document{small}
			if folder := os.Getenv("PARLEY_SPECS"); folder != "" {
				docs = append(docs, load(t, filepath.Join(folder, tt.file), d.open))
			}
			for i, doc := range docs {
				if known, problems := doc.check(tt.good); !known || len(problems) > 0 {
					t.Errorf("document %d: a good call: known %v, %v", i, known, problems)
				}
				known, problems := doc.check(tt.bad)
				if !known || len(problems) == 0 || !strings.Contains(strings.Join(problems, " "), tt.badProblem) {
					t.Errorf("document %d: a bad call: known %v, %v", i, known, problems)
				}
				if known, _ := doc.check(call{method: "POST", path: "/bot/nowhere", kind: js}); known {
					t.Errorf("document %d knows a call that nobody has", i)
				}
			}
		})
	}
}

func graphText(rest string) string {
	return `{"messaging_product":"whatsapp","recipient_type":"individual","to":"1555","type":"text",` + rest + `}`
}

func discordButton(label string) string {
	return fmt.Sprintf(`{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"custom_id":"c","label":%q}]}]}`, label)
}

const smallBotAPI = `{"methods": {"sendMessage": {"fields": [
  {"name": "chat_id", "types": ["Integer", "String"], "required": true}, {"name": "text", "types": ["String"], "required": true},
  {"name": "reply_markup", "types": ["InlineKeyboardMarkup"]}]}},
 "types": {"InlineKeyboardMarkup": {"fields": [{"name": "inline_keyboard", "types": ["Array of Array of InlineKeyboardButton"], "required": true}]},
  "InlineKeyboardButton": {"fields": [{"name": "text", "types": ["String"], "required": true}, {"name": "callback_data", "types": ["String"]}]}}}`

const smallTwilio = `{"paths": {"/2010-04-01/Accounts/{AccountSid}/Messages.json": {"post": {"requestBody": {"content":
 {"application/x-www-form-urlencoded": {"schema": {"type": "object", "required": ["To"], "properties": {"To": {"type": "string"}, "Body": {"type": "string"},
 "ContentSid": {"type": "string", "pattern": "^HX[0-9a-fA-F]{32}$"}}}}}}}}}}`

const smallDiscord = `{"paths": {
 "/channels/{channel_id}/messages": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/M"}}}}}},
 "/channels/{channel_id}/messages/{message_id}": {"patch": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/M"}}}}}}},
 "components": {"schemas": {"M": {"type": "object", "properties": {"content": {"type": "string"}, "components": {"type": "array", "items": {
 "type": "object", "properties": {"components": {"type": "array", "items": {"type": "object", "properties": {"label": {"type": "string", "maxLength": 80}}}}}}}}}}}}`

const smallGraph = `
paths:
  /{Version}/{Phone-Number-ID}/messages:
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Message'}}}}}
components:
  schemas:
    Message: {oneOf: [{$ref: '#/components/schemas/TextMessage'}]}
    Base:
      type: object
      required: [messaging_product, recipient_type, to, type]
      properties: {messaging_product: {type: string}, recipient_type: {type: string}, to: {type: string}, type: {type: string}}
    TextMessage:
      allOf:
        - $ref: '#/components/schemas/Base'
        - {type: object, additionalProperties: false, required: [text], properties: {text: {type: object, properties: {body: {type: string}}}}}
`

// decoded is a value of JSON.
func decoded(text string) (v any, err error) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	return v, nil
}
