package locale

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustNew(t *testing.T, bot string, overrides map[string]map[string]any) *Catalog {
	t.Helper()
	c, err := New(bot, overrides)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBuiltIn_F1_EveryTextInBothLanguages(t *testing.T) {
	t.Parallel()
	en, es := english(), spanish()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(en)), slices.Sorted(maps.Keys(es))); diff != "" {
		t.Errorf("keys differ (-en +es):\n%s", diff)
	}
	for lang, texts := range map[string]map[string]string{"en": en, "es": es} {
		for key, text := range texts {
			if err := CheckText(key, text); err != nil {
				t.Errorf("%s %s: %v", lang, key, err)
			}
			for _, name := range placeholders()[key] {
				if !strings.Contains(text, "{"+name+"}") {
					t.Errorf("%s %s: doesn't use {%s}", lang, key, name)
				}
			}
		}
	}
	for key := range placeholders() {
		if _, ok := en[key]; !ok {
			t.Errorf("placeholders for %s, which is no text", key)
		}
	}
	for _, kind := range mediaTypes() {
		if en["media.type."+kind] == "" {
			t.Errorf("no word for media type %s", kind)
		}
	}
}

func TestBuiltIn_ExactTexts(t *testing.T) {
	t.Parallel()
	c := mustNew(t, "en", nil)
	tests := []struct {
		point, lang, key string
		args             []Arg
		want             string
	}{
		{"A2", "en", MaxSteps, nil, "I couldn't complete the request. Please try again with more detail."},
		{"A2", "es", MaxSteps, nil, "No pude completar la solicitud. Intenta de nuevo con más detalle."},
		{"A13", "en", AIErrorAfter, []Arg{{"actions", "Place order"}}, "Done: Place order. I couldn't write the rest."},
		{"B9", "en", Confirm, []Arg{{"tool", "X"}, {"args", "\n• A"}}, "About to: X\n• A\nDo you confirm? (yes/no)"},
		{"B9", "es", Confirm, []Arg{{"tool", "X"}}, "Voy a: X\n¿Confirmas? (sí/no)"},
		{"B9", "en", ConfirmButtons, []Arg{{"tool", "X"}}, "About to: X\nDo you confirm?"},
		{"B9", "es", ConfirmButtons, []Arg{{"tool", "X"}}, "Voy a: X\n¿Confirmas?"},
		{"B20", "es", ButtonYes, nil, "Sí"},
		{"B20", "en", ButtonNo, nil, "No"},
		{"B23", "en", ConfirmExpired, nil, "That confirmation is no longer active."},
		{"B23", "es", ConfirmExpired, nil, "Esa confirmación ya no está activa."},
		{"B23", "en", ConfirmAnswered, []Arg{{"choice", "Yes"}}, "Answer received: Yes."},
		{"B23", "es", ConfirmAnswered, []Arg{{"choice", "Sí"}}, "Respuesta recibida: Sí."},
		{"C1", "en", ConfirmRepeat, []Arg{{"tool", "Place order"}, {"result", "ok"}}, "Heads-up: I already did «Place order» a moment ago (result: ok). Confirming will do it again."},
		{"C1", "es", ConfirmRepeat, []Arg{{"tool", "Crear pedido"}, {"result", "ok"}}, "Ojo: ya hice «Crear pedido» hace un momento (resultado: ok). Si confirmas, se hará otra vez."},
	}
	for _, tt := range tests {
		t.Run(tt.point+" "+tt.lang+" "+tt.key, func(t *testing.T) {
			t.Parallel()
			if got := c.Text(tt.lang, tt.key, tt.args...); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestResolve_F1_LanguageOfChat(t *testing.T) {
	t.Parallel()
	portuguese := map[string]map[string]any{"pt": {"ai": map[string]any{"error": "Desculpe."}}}
	tests := []struct {
		name, bot string
		overrides map[string]map[string]any
		lang      string
		want      string
	}{
		{"itself", "en", nil, "es", "es"},
		{"region", "en", nil, "es-CO", "es"},
		{"underscore", "en", nil, "es_MX", "es"},
		{"case", "en", nil, "ES", "es"},
		{"area", "en", nil, "es-419", "es"},
		{"british", "es", nil, "en-GB", "en"},
		{"no texts, bot has", "es", nil, "fr", "es"},
		{"no texts, bot's region", "es-CO", nil, "fr", "es"},
		{"no texts, bot has none either", "fr", nil, "de", "en"},
		{"empty", "es", nil, "", "es"},
		{"nonsense", "es", nil, "!!", "es"},
		{"endless", "es", nil, strings.Repeat("en-", 10_000), "es"},
		{"neighbour isn't a relative", "en", nil, "eu", "en"},
		{"galician isn't spanish", "en", nil, "gl", "en"},
		{"portuguese isn't spanish", "en", nil, "pt-BR", "en"},
		{"added", "en", portuguese, "pt-BR", "pt"},
		{"added is the bot's", "pt", portuguese, "fr", "pt"},
		{"undetermined", "es", nil, "und", "es"},
		{"private use", "es", nil, "x-klingon", "es"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := mustNew(t, tt.bot, tt.overrides).Resolve(tt.lang); got != tt.want {
				t.Errorf("Resolve(%.20q) = %q, want %q", tt.lang, got, tt.want)
			}
		})
	}
}

func TestOverride_F2_AnyTextAnyLanguage(t *testing.T) {
	t.Parallel()
	c := mustNew(t, "es", map[string]map[string]any{
		"en":    {"ai": map[string]any{"tools": map[string]any{"confirm": "Run {tool}?{args}"}}},
		"pt":    {"ai": map[string]any{"error": "Desculpe."}, "language.name": "português"},
		"es-CO": {"ai.tools.button.yes": "Hágale"},
	})
	tool := Arg{"tool", "Pay"}
	tests := []struct{ name, lang, key, want string }{
		{"nested", "en", Confirm, "Run Pay?"},
		{"reused for buttons", "en", ConfirmButtons, "Run Pay?"},
		{"others stay", "en", ButtonYes, "Yes"},
		{"added language", "pt-BR", AIError, "Desculpe."},
		{"its gaps come from the bot's language", "pt", ConfirmButtons, "Voy a: Pay\n¿Confirmas?"},
		{"dotted", "es-CO", ButtonYes, "Hágale"},
		{"a region's gaps come from its language", "es-CO", ButtonNo, "No"},
		{"the language itself is untouched", "es", ButtonYes, "Sí"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := c.Text(tt.lang, tt.key, tool); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if diff := cmp.Diff([]string{"en", "es", "es-CO", "pt"}, c.Languages()); diff != "" {
		t.Error(diff)
	}
	if m := c.Missing("pt"); slices.Contains(m, AIError) || !slices.Contains(m, Confirm) {
		t.Errorf("Missing(pt) = %v", m)
	}
	if m := c.Missing("es-CO"); len(m) != 0 {
		t.Errorf("Missing(es-CO) = %v, want none: they are Spanish", m)
	}
}

func TestOverride_F2_ButtonsOwnTextWins(t *testing.T) {
	t.Parallel()
	c := mustNew(t, "en", map[string]map[string]any{"en": {"ai.tools.confirm": "A", "ai.tools.confirmButtons": "B"}})
	if got := c.Text("en", ConfirmButtons); got != "B" {
		t.Errorf("got %q, want B", got)
	}
}

func TestOverride_Errors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lang  string
		texts map[string]any
		want  []string
	}{
		{"unknown key", "en", map[string]any{"ai": map[string]any{"tools": map[string]any{"confrim": "x"}}}, []string{"locale.en.ai.tools.confrim", "did you mean ai.tools.confirm?"}},
		{"case matters", "en", map[string]any{"ai.tools.maxsteps": "x"}, []string{"ai.tools.maxSteps"}},
		{"unknown placeholder", "es", map[string]any{"ai.tools.confirm": "{herramienta}"}, []string{"locale.es.ai.tools.confirm", "{herramienta}", "{tool} {args}"}},
		{"placeholder where there is none", "en", map[string]any{"ai.error": "{tool}"}, []string{"this text has none"}},
		{"empty", "en", map[string]any{"ai.error": " \n"}, []string{"locale.en.ai.error", "empty"}},
		{"not a text", "en", map[string]any{"ai.error": 5}, []string{"must be a text, not int"}},
		{"text where keys belong", "en", map[string]any{"ai": "x"}, []string{"locale.en.ai: unknown key"}},
		{"control character", "en", map[string]any{"ai.error": "a\x00"}, []string{"control characters"}},
		{"not UTF-8", "en", map[string]any{"ai.error": "a\xff"}, []string{"UTF-8"}},
		{"not a language", "english!", map[string]any{"ai.error": "x"}, []string{"locale.english!", "language tag"}},
		{"twice", "en", map[string]any{"ai.error": "x", "ai": map[string]any{"error": "y"}}, []string{"ai.error: is there twice"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := New("en", map[string]map[string]any{tt.lang: tt.texts})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q doesn't say %q", err, want)
				}
			}
		})
	}
	if _, err := New("en", map[string]map[string]any{"es": {"ai.error": "a"}, "ES": {"ai.error": "b"}}); err == nil {
		t.Error("one language under two spellings was taken")
	}
	if _, err := New("!", nil); err == nil {
		t.Error("a bot language that is no tag was taken")
	}
}

func TestText_BracesInValuesAreLiteral(t *testing.T) {
	t.Parallel()
	c := mustNew(t, "en", map[string]map[string]any{"en": {"ai.tools.confirm": "{ {tool}{args} {{tool}} {}"}})
	got := c.Text("en", Confirm, Arg{"tool", "{args}"}, Arg{"args", "{tool}"})
	if want := "{ {args}{tool} {{args}} {}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := c.Text("en", "no.such.key"); got != "no.such.key" {
		t.Errorf("unknown key gives %q", got)
	}
}

func FuzzCatalog(f *testing.F) {
	f.Add("es-CO", "{tool}", "x")
	f.Add("\xff", "{", "{args}")
	f.Fuzz(func(t *testing.T, lang, text, value string) {
		plain, err := New("en", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := plain.Resolve(lang); !slices.Contains(plain.Languages(), got) {
			t.Errorf("Resolve(%q) = %q", lang, got)
		}
		c, err := New("en", map[string]map[string]any{"en": {"ai.tools.confirm": text}})
		if err != nil {
			return
		}
		got := c.Text("en", Confirm, Arg{"tool", value}, Arg{"args", value})
		want := strings.ReplaceAll(strings.ReplaceAll(text, "{args}", "{tool}"), "{tool}", value)
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
