package telegram

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-bot/parley/channels"
)

var bot = identity{ID: 4217, Username: "parley_bot"}

const (
	private = `"chat":{"id":42,"type":"private"},"from":{"id":42,"is_bot":false,"first_name":"Ana","last_name":"Ruiz","username":"ana","language_code":"es-MX"},"date":1700000000`
	inGroup = `"chat":{"id":-1001234567890,"type":"supergroup","is_forum":true},"from":{"id":42,"first_name":"Ana"},"date":1700000000`
)

func translate(t *testing.T, raw string) (channels.Inbound, bool) {
	t.Helper()
	u, err := decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return u.inbound(bot)
}

func TestInbound_Whole(t *testing.T) {
	t.Parallel()
	ana := channels.User{ID: "42", Name: "Ana Ruiz", Lang: "es-MX", Claims: map[string]string{"username": "ana"}}
	at := time.Unix(1700000000, 0)
	group := channels.Chat{ID: "-1001234567890", Group: true}
	tests := map[string]struct {
		raw  string
		want channels.Inbound
	}{
		"text": {
			`{"update_id":1,"message":{"message_id":7,` + private + `,"text":"hola"}}`,
			channels.Inbound{Kind: channels.KindMessage, ID: "7", Chat: channels.Chat{ID: "42"}, From: ana, Text: "hola", At: at},
		},
		"edit": {
			`{"update_id":1,"edited_message":{"message_id":7,` + private + `,"edit_date":1700000009,"text":"hola!"}}`,
			channels.Inbound{Kind: channels.KindEdit, ID: "7", Chat: channels.Chat{ID: "42"}, From: ana, Text: "hola!", EditStamp: "1700000009", At: at},
		},
		"press": {
			`{"update_id":2,"callback_query":{"id":"99","from":{"id":42,"first_name":"A"},"message":{"message_id":8,"date":1700000001,"chat":{"id":42,"type":"private"},"text":"Delete?"},"chat_instance":"x","data":"c:Zk3f9:y"}}`,
			channels.Inbound{Kind: channels.KindPress, ID: "99", Chat: channels.Chat{ID: "42"}, From: channels.User{ID: "42", Name: "A"}, Button: "c:Zk3f9:y", Handle: handle{"99"}},
		},
		"press of a message too old to be seen": {
			`{"update_id":2,"callback_query":{"id":"99","from":{"id":42,"first_name":"A"},"message":{"message_id":8,"date":0,"chat":{"id":42,"type":"private"}},"data":"x"}}`,
			channels.Inbound{Kind: channels.KindPress, ID: "99", Chat: channels.Chat{ID: "42"}, From: channels.User{ID: "42", Name: "A"}, Button: "x", Handle: handle{"99"}},
		},
		"caption": {
			`{"update_id":1,"message":{"message_id":7,` + private + `,"caption":"sí","photo":[{"file_id":"s","file_size":1},{"file_id":"L","file_size":9}]}}`,
			channels.Inbound{
				Kind: channels.KindMessage, ID: "7", Chat: channels.Chat{ID: "42"}, From: ana, Text: "sí", At: at,
				Media: []channels.Media{{Type: "image", MIME: "image/jpeg", Size: 9, Ref: "L"}},
			},
		},
		"topic": {
			`{"update_id":1,"message":{"message_id":7,` + inGroup + `,"message_thread_id":5,"is_topic_message":true,"text":"@bot hi","reply_to_message":{"message_id":5,"from":{"id":4217},"forum_topic_created":{"name":"x"},` + `"chat":{"id":1,"type":"group"}}}}`,
			channels.Inbound{Kind: channels.KindMessage, ID: "7", Chat: channels.Chat{ID: "-1001234567890", Group: true, Thread: "5"}, From: channels.User{ID: "42", Name: "Ana"}, Text: "@bot hi", At: at},
		},
		"reply to the bot": {
			`{"update_id":1,"message":{"message_id":7,` + inGroup + `,"text":"yes","reply_to_message":{"message_id":6,"from":{"id":4217,"is_bot":true}}}}`,
			channels.Inbound{Kind: channels.KindMessage, ID: "7", Chat: group, From: channels.User{ID: "42", Name: "Ana"}, Text: "yes", ReplyTo: "6", Mentioned: true, At: at},
		},
		"anonymous administrator": {
			`{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"group"},"from":{"id":1087968824,"is_bot":true},"sender_chat":{"id":-5,"type":"group","title":"G"},"text":"x"}}`,
			channels.Inbound{Kind: channels.KindMessage, ID: "7", Chat: channels.Chat{ID: "-5", Group: true}, From: channels.User{ID: "-5", Name: "G"}, Text: "x"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := translate(t, tt.raw)
			if !ok {
				t.Fatal("skipped")
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(handle{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInbound_Skipped(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"unknown kind":        `{"update_id":1,"brand_new":{"message_id":7}}`,
		"nothing":             `{"update_id":1}`,
		"service message":     `{"update_id":1,"message":{"message_id":7,` + private + `,"new_chat_title":"x"}}`,
		"another bot":         `{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"group"},"from":{"id":9,"is_bot":true},"text":"x"}}`,
		"the bot itself":      `{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"group"},"from":{"id":4217},"text":"x"}}`,
		"nobody":              `{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"group"},"text":"x"}}`,
		"channel's own post":  `{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"channel"},"sender_chat":{"id":-5},"text":"x"}}`,
		"forwarded by itself": `{"update_id":1,"message":{"message_id":7,"chat":{"id":-5,"type":"supergroup"},"from":{"id":777000},"sender_chat":{"id":-6},"is_automatic_forward":true,"text":"x"}}`,
		"press without chat":  `{"update_id":1,"callback_query":{"id":"9","from":{"id":42},"inline_message_id":"z","data":"x"}}`,
		"game button":         `{"update_id":1,"callback_query":{"id":"9","from":{"id":42},"message":{"message_id":1,"chat":{"id":42,"type":"private"}},"game_short_name":"g"}}`,
		"null photo":          `{"update_id":1,"message":{"message_id":7,` + private + `,"photo":null,"poll":null}}`,
	} {
		if in, ok := translate(t, raw); ok {
			t.Errorf("%s: %+v", name, in)
		}
	}
}

func TestInbound_Mistake11_ThreadOfTopicsOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fields string
		want   channels.ThreadID
	}{
		"topic":                  {`"message_thread_id":5,"is_topic_message":true`, "5"},
		"plain reply":            {`"message_thread_id":5`, ""},
		"General":                {`"message_thread_id":1,"is_topic_message":true`, ""},
		"no thread, as topic":    {`"is_topic_message":true`, ""},
		"negative, out of range": {`"message_thread_id":-5,"is_topic_message":true`, ""},
	} {
		in, ok := translate(t, `{"update_id":1,"message":{"message_id":7,`+inGroup+`,`+tt.fields+`,"text":"x"}}`)
		if !ok || in.Chat.Thread != tt.want {
			t.Errorf("%s: thread %q, want %q", name, in.Chat.Thread, tt.want)
		}
	}
}

func TestInbound_Mistake13_MentionsCountUTF16(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, entities string
		mentioned      bool
		want           string
	}{
		"at the start":           {"@parley_bot yes", `[{"type":"mention","offset":0,"length":11}]`, true, "yes"},
		"with a comma":           {"@parley_bot, yes", `[{"type":"mention","offset":0,"length":11}]`, true, "yes"},
		"other case":             {"@Parley_Bot sí", `[{"type":"mention","offset":0,"length":11}]`, true, "sí"},
		"at the end":             {"sí, @parley_bot", `[{"type":"mention","offset":4,"length":11}]`, true, "sí"},
		"behind emoji":           {"🥐👩‍👩‍👧 @parley_bot", `[{"type":"mention","offset":11,"length":11}]`, true, "🥐👩‍👩‍👧"},
		"in the middle":          {"hey @parley_bot do it", `[{"type":"mention","offset":4,"length":11}]`, true, "hey @parley_bot do it"},
		"only the name":          {"@parley_bot", `[{"type":"mention","offset":0,"length":11}]`, true, "@parley_bot"},
		"another bot":            {"@parley_bots yes", `[{"type":"mention","offset":0,"length":12}]`, false, "@parley_bots yes"},
		"an e-mail address":      {"me@parley_bot yes", `[]`, false, "me@parley_bot yes"},
		"no entity":              {"@parley_bot yes", ``, false, "@parley_bot yes"},
		"by id":                  {"Parley yes", `[{"type":"text_mention","offset":0,"length":6,"user":{"id":4217}}]`, true, "yes"},
		"by another's id":        {"Parley yes", `[{"type":"text_mention","offset":0,"length":6,"user":{"id":1}}]`, false, "Parley yes"},
		"command with its name":  {"/reset@parley_bot", `[{"type":"bot_command","offset":0,"length":17}]`, true, "/reset@parley_bot"},
		"command of another":     {"/reset@other_bot", `[{"type":"bot_command","offset":0,"length":16}]`, false, "/reset@other_bot"},
		"command without a name": {"/reset", `[{"type":"bot_command","offset":0,"length":6}]`, false, "/reset"},
		"out of range":           {"hi", `[{"type":"mention","offset":1,"length":2147483647}]`, false, "hi"},
		"negative":               {"hi", `[{"type":"mention","offset":-1,"length":1}]`, false, "hi"},
		"within a character":     {"🥐@parley_bot", `[{"type":"mention","offset":1,"length":12}]`, false, "🥐@parley_bot"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range []string{"text", "caption"} {
				raw := `{"update_id":1,"message":{"message_id":7,` + inGroup + `,"` + field + `":` + string(text)
				if tt.entities != "" {
					raw += `,"` + strings.Replace(field+"_entities", "text_", "", 1) + `":` + tt.entities
				}
				in, ok := translate(t, raw+`}}`)
				if !ok || in.Mentioned != tt.mentioned || in.Text != tt.want {
					t.Errorf("%s: mentioned %v, text %q; want %v, %q", field, in.Mentioned, in.Text, tt.mentioned, tt.want)
				}
			}
		})
	}
}

func TestInbound_B3_MediaKinds(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]channels.Media{
		`"document":{"file_id":"d","file_name":"a.pdf","mime_type":"application/pdf","file_size":3}`: {Type: "document", MIME: "application/pdf", Name: "a.pdf", Size: 3, Ref: "d"},
		`"animation":{"file_id":"g","mime_type":"video/mp4"},"document":{"file_id":"g"}`:             {Type: "video", MIME: "video/mp4", Ref: "g"},
		`"voice":{"file_id":"v"}`:                         {Type: "audio", MIME: "audio/ogg", Ref: "v"},
		`"audio":{"file_id":"a","mime_type":"audio/mp4"}`: {Type: "audio", MIME: "audio/mp4", Ref: "a"},
		`"video":{"file_id":"m"}`:                         {Type: "video", MIME: "video/mp4", Ref: "m"},
		`"video_note":{"file_id":"n"}`:                    {Type: "video", MIME: "video/mp4", Ref: "n"},
		`"sticker":{"file_id":"s"}`:                       {Type: "sticker", Ref: "s"},
		`"location":{"latitude":1.5}`:                     {Type: "location"},
		`"venue":{"title":"x"}`:                           {Type: "location"},
		`"contact":{"phone_number":"1"}`:                  {Type: "contact"},
		`"poll":{"id":"1"}`:                               {Type: "other"},
		`"dice":{"value":1}`:                              {Type: "other"},
		`"story":{"id":1}`:                                {Type: "other"},
	} {
		in, ok := translate(t, `{"update_id":1,"message":{"message_id":7,`+private+`,`+field+`}}`)
		if !ok || len(in.Media) != 1 || in.Media[0] != want {
			t.Errorf("%s: %+v", field, in.Media)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"message_id":7,` + inGroup + `,"text":"🥐 @parley_bot","entities":[{"type":"mention","offset":3,"length":11}]}}`))
	f.Add([]byte(`{"update_id":1,"edited_message":{"message_id":7,` + private + `,"edit_date":1,"caption":"\ud83e","photo":[]}}`))
	f.Add([]byte(`{"update_id":2,"callback_query":{"id":"99","from":{"id":42},"message":{"message_id":8,"chat":{"id":42}},"data":"x"}}`))
	f.Add([]byte(`{"message":{"message_id":7,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"ab","entities":[{"type":"text_mention","offset":0,"length":1,"user":{"id":4217}},{"type":"mention","offset":1,"length":9223372036854775807}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := decode(raw)
		if err != nil {
			return
		}
		in, ok := u.inbound(bot)
		if !ok {
			return
		}
		if in.ID == "" || in.Chat.ID == "" || in.From.ID == "" {
			t.Errorf("an id is empty: %+v", in)
		}
		if (in.Kind == channels.KindPress) != (in.Button != "") || (in.Kind == channels.KindEdit) != (in.EditStamp != "") {
			t.Errorf("kind %s, button %q, stamp %q", in.Kind, in.Button, in.EditStamp)
		}
		if in.Kind != channels.KindPress && in.Text == "" && len(in.Media) == 0 {
			t.Error("nothing is in it")
		}
		if !utf8.ValidString(in.Text) || !utf8.ValidString(in.From.Name) {
			t.Error("not UTF-8")
		}
	})
}
