package llm_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
)

// turnsOf reads "ua uua a": one turn a word, one message a letter.
func turnsOf(spec string) []llm.Turn {
	var turns []llm.Turn
	n := 0
	for word := range strings.FieldsSeq(spec) {
		var turn llm.Turn
		for _, r := range word {
			n++
			role := llm.RoleUser
			if r == 'a' {
				role = llm.RoleAssistant
			}
			turn = append(turn, llm.Message{Role: role, Text: strings.Repeat("word ", n)})
		}
		turns = append(turns, turn)
	}
	return turns
}

func roles(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteByte(m.Role[0])
	}
	return b.String()
}

func TestTrim_A14_WholeTurns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		turns            string
		messages, tokens int
		want             string
	}{
		"all fit":                             {"ua ua", 40, 8000, "uaua"},
		"no limits":                           {"ua ua ua", -1, -1, "uauaua"},
		"oldest goes first":                   {"ua ua ua", 4, -1, "uaua"},
		"never half a turn":                   {"ua uua ua", 4, -1, "ua"},
		"no later turn is skipped":            {"u uuuuua ua", 4, -1, "ua"},
		"newest alone is too much":            {"ua uuuua", 4, -1, ""},
		"by tokens":                           {"ua ua ua", -1, 24, "ua"},
		"never starts with the assistant":     {"a ua", 40, -1, "ua"},
		"nor after trimming":                  {"ua aua ua", 5, -1, "ua"},
		"an assistant's turn between is kept": {"ua a ua", 40, -1, "uaaua"},
		"only the assistant":                  {"a a", 40, -1, ""},
		"nothing":                             {"", 40, 8000, ""},
		"zero messages":                       {"ua", 0, -1, ""},
		"zero tokens":                         {"ua", -1, 0, ""},
		"an unanswered turn":                  {"u u", 40, -1, "uu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := roles(llm.Trim(turnsOf(tc.turns), tc.messages, tc.tokens)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzTrim(f *testing.F) {
	f.Add("ua uua a", 3, 40)
	f.Add("", 0, 0)
	f.Add("a ua", -1, 9)
	f.Fuzz(func(t *testing.T, spec string, maxMessages, maxTokens int) {
		if len(spec) > 200 {
			return
		}
		turns := turnsOf(spec)
		got := llm.Trim(turns, maxMessages, maxTokens)
		if len(got) > 0 && got[0].Role != llm.RoleUser {
			t.Fatal("starts with the assistant")
		}
		if maxMessages >= 0 && len(got) > maxMessages {
			t.Fatalf("%d messages, limit %d", len(got), maxMessages)
		}
		tokens := 0
		for _, m := range got {
			tokens += llm.EstimateTokens(m.Text)
		}
		if maxTokens >= 0 && tokens > maxTokens {
			t.Fatalf("%d tokens, limit %d", tokens, maxTokens)
		}
		// What is kept is the end of the whole, cut between two turns.
		cuts := []int{0}
		for _, turn := range slices.Backward(turns) {
			cuts = append(cuts, cuts[len(cuts)-1]+len(turn))
		}
		if !slices.Contains(cuts, len(got)) {
			t.Fatalf("%d messages aren't whole turns of %q", len(got), spec)
		}
		all := slices.Concat(turns...)
		if diff := cmp.Diff([]llm.Message(all[len(all)-len(got):]), got, cmp.Transformer("nil", roles)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The counts are those of OpenAI's tokenizers: o200k_base, which the estimate
// was set against, and cl100k_base, whose kind other and older models have.
func TestEstimateTokens_A14(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text          string
		o200k, cl100k int
	}{
		"english":    {"Hi! I'd like to order two croissants and a large coffee for tomorrow morning, please. Could you tell me whether you deliver to the neighbourhood around the cathedral, and what it would cost?", 39, 41},
		"spanish":    {"¡Hola! Quisiera pedir dos cruasanes y un café grande para mañana por la mañana, por favor. ¿Podrían decirme si hacen entregas en el barrio de la catedral y cuánto costaría? También necesitaría una confirmación.", 52, 59},
		"russian":    {"Здравствуйте! Я хотел бы заказать два круассана и большой кофе на завтрашнее утро, пожалуйста. Скажите, вы доставляете в район собора и сколько это будет стоить?", 41, 76},
		"arabic":     {"مرحبا، أود أن أطلب اثنين من الكرواسون وقهوة كبيرة لصباح الغد من فضلك. هل يمكنكم إخباري بتكلفة التوصيل؟", 39, 74},
		"chinese":    {"你好，我想订两个牛角面包和一杯大杯咖啡，明天早上取。请问你们送到大教堂附近吗？需要多少钱？", 39, 58},
		"japanese":   {"こんにちは。明日の朝に、クロワッサンを二つとコーヒーを一つ注文したいのですが、大聖堂の近くまで配達できますか？", 41, 53},
		"korean":     {"안녕하세요. 내일 아침에 크루아상 두 개와 큰 커피 한 잔을 주문하고 싶습니다. 성당 근처로 배달이 가능한가요?", 39, 58},
		"german":     {"Guten Tag! Ich möchte für morgen früh zwei Croissants und einen großen Kaffee bestellen. Liefern Sie auch in die Nachbarschaft der Kathedrale, und was würde das kosten?", 38, 43},
		"french":     {"Bonjour ! Je voudrais commander deux croissants et un grand café pour demain matin, s'il vous plaît. Livrez-vous dans le quartier de la cathédrale, et combien cela coûterait-il ?", 42, 50},
		"portuguese": {"Olá! Queria encomendar dois croissants e um café grande para amanhã de manhã, por favor. Fazem entregas no bairro da catedral, e quanto custaria?", 36, 46},
		"turkish":    {"Merhaba! Yarın sabah için iki kruvasan ve büyük bir kahve sipariş etmek istiyorum. Katedralin çevresine teslimat yapıyor musunuz, ne kadar tutar?", 41, 54},
		"greek":      {"Γεια σας! Θα ήθελα να παραγγείλω δύο κρουασάν και έναν μεγάλο καφέ για αύριο το πρωί. Κάνετε διανομή στη γειτονιά του καθεδρικού και πόσο θα κόστιζε;", 57, 130},
		"hebrew":     {"שלום! הייתי רוצה להזמין שני קרואסונים וקפה גדול למחר בבוקר, בבקשה. האם אתם עושים משלוחים לשכונה שליד הקתדרלה, וכמה זה יעלה?", 44, 121},
		"hindi":      {"नमस्ते! मैं कल सुबह के लिए दो क्रोइसैन और एक बड़ी कॉफ़ी मंगवाना चाहता हूँ। क्या आप गिरजाघर के पास डिलीवरी करते हैं और कितना खर्च आएगा?", 47, 138},
		"thai":       {"สวัสดีครับ ผมอยากสั่งครัวซองต์สองชิ้นกับกาแฟแก้วใหญ่สำหรับเช้าวันพรุ่งนี้ ส่งแถวโบสถ์ได้ไหมครับ และราคาเท่าไร", 48, 106},
		"vietnamese": {"Xin chào! Tôi muốn đặt hai chiếc bánh sừng bò và một ly cà phê lớn cho sáng mai. Bạn có giao hàng đến khu vực nhà thờ không và giá bao nhiêu?", 41, 72},
		"json":       {`{"orders":[{"id":"ord_8f3a21","items":[{"product":"chocolate_cake","quantity":5},{"product":"coffee","quantity":2}],"total":42.50,"created_at":"2026-08-22T10:15:00Z","status":"confirmed"}]}`, 65, 63},
		"code":       {"func (s *Store) Sent(ctx context.Context, e Entry) (Entry, bool, error) {\n\tif err := s.check(e); err != nil {\n\t\treturn Entry{}, false, fmt.Errorf(\"marking entry %d: %w\", e.Seq, err)\n\t}\n\treturn s.next(ctx, e.ChatKey)\n}\n", 69, 69},
		"markdown":   {"## Opening hours\n\n| day | from | to |\n| --- | --- | --- |\n| Monday | 07:00 | 18:30 |\n| Sunday | 08:00 | 12:00 |\n\n- **Bread** is baked at *five* in the morning.\n- See <https://www.example.com/hours?lang=en> for holidays.\n", 75, 76},
		"emoji":      {"😀🎂🥐☕️👍🏽👨‍👩‍👧‍👦❤️🎉", 25, 41},
		"hex":        {"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43, 43},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := llm.EstimateTokens(tc.text)
			most := 1.5
			if slices.Contains([]string{"hindi", "thai", "vietnamese"}, name) {
				most = 2.4
			}
			if ratio := float64(got) / float64(tc.o200k); ratio < 0.9 || ratio > most {
				t.Errorf("got %d for %d tokens (%.2f)", got, tc.o200k, ratio)
			}
			// What is counted above the estimate is within what is learned
			// from a model's own counts.
			if ratio := float64(tc.cl100k) / float64(got); ratio > 2.7 {
				t.Errorf("got %d for %d tokens of the other kind (%.2f times)", got, tc.cl100k, ratio)
			}
		})
	}
	if got := llm.EstimateTokens(""); got != 0 {
		t.Errorf("an empty text costs %d", got)
	}
}

func FuzzEstimateTokens(f *testing.F) {
	f.Add("hello", "world")
	f.Add("\xff\xfe", " \n")
	f.Fuzz(func(t *testing.T, a, b string) {
		whole, parts := llm.EstimateTokens(a+b), llm.EstimateTokens(a)+llm.EstimateTokens(b)
		if a != "" && llm.EstimateTokens(a) == 0 {
			t.Fatalf("%q costs nothing", a)
		}
		if utf8.ValidString(a) && utf8.ValidString(b) && whole > parts+1 {
			t.Fatalf("%q + %q cost %d, apart %d", a, b, whole, parts)
		}
		if whole > 2*len(a+b) {
			t.Fatalf("%d tokens for %d bytes", whole, len(a+b))
		}
	})
}

func TestJoinAdjacent(t *testing.T) {
	t.Parallel()
	in := []llm.Message{
		{Role: llm.RoleUser, Text: "one"}, {Role: llm.RoleUser}, {Role: llm.RoleUser, Text: "two"},
		{Role: llm.RoleAssistant, Text: "a", From: "x/1", Opaque: []byte(`1`)},
		{Role: llm.RoleAssistant, From: "x/2", Opaque: []byte(`2`), Calls: []llm.Call{{ID: "1"}}},
		{Role: llm.RoleTool, Results: []llm.Result{{CallID: "1"}}},
		{Role: llm.RoleTool, Results: []llm.Result{{CallID: "2"}}},
	}
	before := slices.Clone(in)
	want := []llm.Message{
		{Role: llm.RoleUser, Text: "one\ntwo"},
		{Role: llm.RoleAssistant, Text: "a", From: "x/2", Calls: []llm.Call{{ID: "1"}}},
		{Role: llm.RoleTool, Results: []llm.Result{{CallID: "1"}, {CallID: "2"}}},
	}
	if diff := cmp.Diff(want, llm.JoinAdjacent(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
}
