package telegramtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// spec is a method's parameters. Types are int, text, flag, chat (an id or
// @name) and json (an object or list); ! marks those that must be there.
type spec map[string]string

// methods are those of Bot API 10.1 that a chatbot needs.
func methods() map[string]spec {
	out := map[string]spec{}
	for _, line := range []string{
		"getMe",
		"getUpdates offset:int limit:int timeout:int allowed_updates:json",
		"setWebhook url:text! ip_address:text max_connections:int allowed_updates:json drop_pending_updates:flag secret_token:text",
		"deleteWebhook drop_pending_updates:flag",
		"getWebhookInfo",
		"sendMessage business_connection_id:text chat_id:chat! message_thread_id:int direct_messages_topic_id:int text:text! parse_mode:text " +
			"entities:json link_preview_options:json disable_notification:flag protect_content:flag allow_paid_broadcast:flag " +
			"message_effect_id:text suggested_post_parameters:json reply_parameters:json reply_markup:json",
		"editMessageText business_connection_id:text chat_id:chat message_id:int inline_message_id:text text:text parse_mode:text " +
			"entities:json link_preview_options:json rich_message:json reply_markup:json",
		"editMessageReplyMarkup business_connection_id:text chat_id:chat message_id:int inline_message_id:text reply_markup:json",
		"answerCallbackQuery callback_query_id:text! text:text show_alert:flag url:text cache_time:int",
		"sendChatAction business_connection_id:text chat_id:chat! message_thread_id:int action:text!",
		"setMyCommands commands:json! scope:json language_code:text",
	} {
		name, rest, _ := strings.Cut(line, " ")
		sp := spec{}
		for p := range strings.FieldsSeq(rest) {
			key, kind, _ := strings.Cut(p, ":")
			sp[key] = kind
		}
		out[name] = sp
	}
	return out
}

// parse checks names and types. Numbers become int64, json a decoded value.
func (sp spec) parse(raw map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for name, value := range raw {
		kind, ok := sp[name]
		if !ok {
			return nil, fmt.Errorf("there is no parameter %q", name)
		}
		v, err := convert(strings.TrimSuffix(kind, "!"), value)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		out[name] = v
	}
	for name, kind := range sp {
		if _, ok := out[name]; !ok && strings.HasSuffix(kind, "!") {
			if name == "text" {
				out[name] = "" // said in other words below
				continue
			}
			return nil, fmt.Errorf("parameter %q is required", name)
		}
	}
	return out, nil
}

func convert(kind string, v any) (any, error) {
	text, isText := v.(string)
	num, isNum := v.(json.Number)
	switch kind {
	case "int", "chat":
		if isNum {
			text = num.String()
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && kind == "chat" && strings.HasPrefix(text, "@") {
			return text, nil
		}
		if err != nil || !isText && !isNum {
			return nil, fmt.Errorf("want an integer, got %.40v", v)
		}
		return n, nil
	case "text":
		if !isText {
			return nil, fmt.Errorf("want a text, got %T", v)
		}
		return text, nil
	case "flag":
		switch v {
		case true, "true":
			return true, nil
		case false, "false":
			return false, nil
		}
		return nil, fmt.Errorf("want true or false, got %.40v", v)
	}
	if isText {
		v = nil
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("want JSON: %w", err)
		}
	}
	switch v.(type) {
	case map[string]any, []any:
		return v, nil
	}
	return nil, fmt.Errorf("want an object or a list, got %T", v)
}

// fields checks that an object has only the named fields, and those with ! in
// any case.
func fields(v any, what string, names ...string) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no object", what)
	}
	allowed := map[string]bool{}
	for _, n := range names {
		name, must := strings.CutSuffix(n, "!")
		allowed[name] = true
		if _, there := m[name]; must && !there {
			return nil, fmt.Errorf("%s has no %s", what, name)
		}
	}
	for name := range m {
		if !allowed[name] {
			return nil, fmt.Errorf("%s has no field %q", what, name)
		}
	}
	return m, nil
}
