package confirm

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func readAnswers(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func defaultWords(t testing.TB) *Words {
	t.Helper()
	w, err := NewWords(nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestClassify_B3_Answers(t *testing.T) {
	t.Parallel()
	w := defaultWords(t)
	tried := 0
	for line := range strings.Lines(readAnswers(t)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		want, quoted, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(quoted, `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		tried++
		if got := w.Classify(text); got != Class(want) {
			t.Errorf("Classify(%q) = %s, want %s", text, got, want)
		}
	}
	if tried < 150 {
		t.Errorf("only %d cases read", tried)
	}
}

func TestClassify_B3_EveryDefaultWord(t *testing.T) {
	t.Parallel()
	w := defaultWords(t)
	for want, words := range map[Class][]string{Yes: DefaultYes(), No: DefaultNo(), Other: courtesy()} {
		for _, word := range words {
			for _, text := range []string{word, strings.ToUpper(word), " " + word + "! ", word + " gracias", "por favor, " + word} {
				if got := w.Classify(text); got != want {
					t.Errorf("Classify(%q) = %s, want %s", text, got, want)
				}
			}
		}
	}
}

func TestClassify_B3_MixedIsOther(t *testing.T) {
	t.Parallel()
	w := defaultWords(t)
	for _, y := range DefaultYes() {
		for _, n := range DefaultNo() {
			for _, text := range []string{y + " " + n, n + ", " + y} {
				if got := w.Classify(text); got != Other {
					t.Errorf("Classify(%q) = %s, want other", text, got)
				}
			}
		}
	}
}

func TestClassify_B3_OwnWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                   string
		yes, no, yesAdd, noAdd []string
		text                   string
		want                   Class
	}{
		{"replaced yes", []string{"oui"}, nil, nil, nil, "Oui!", Yes},
		{"replaced yes drops the default", []string{"oui"}, nil, nil, nil, "yes", Other},
		{"replaced no", nil, []string{"nein"}, nil, nil, "nein danke", Other},
		{"no stays beside a replaced yes", []string{"oui"}, nil, nil, nil, "no", No},
		{"added", nil, nil, []string{"Árre"}, nil, "arre, gracias", Yes},
		{"added keeps the default", nil, nil, []string{"arre"}, nil, "yes", Yes},
		{"added no, several words", nil, nil, nil, []string{"Ni  modo"}, "ni modo.", No},
		{"apostrophe", nil, nil, []string{"d'accord"}, nil, "D’accord", Yes},
		{"longer phrase than its start", nil, nil, []string{"mejor"}, nil, "mejor no", No},
		{"a phrase with a no in it", nil, nil, []string{"no problem"}, nil, "no problem", Yes},
		{"a phrase that can be read both ways", nil, nil, []string{"no please"}, nil, "no please", Other},
		{"number with a sign", nil, nil, []string{"+1"}, nil, "+1", Yes},
		{"emoji", nil, nil, []string{"👍"}, nil, "👍🏽", Yes},
		{"several emoji", nil, nil, []string{"👍"}, nil, "👍👍", Yes},
		{"own emoji against a word", nil, nil, []string{"💚"}, nil, "no 💚", Other},
		{"courtesy taken as a yes", nil, nil, []string{"gracias"}, nil, "gracias", Yes},
		{"courtesy taken as a yes, beside a no", nil, nil, []string{"gracias"}, nil, "no gracias", No},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, err := NewWords(tt.yes, tt.no, tt.yesAdd, tt.noAdd)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Classify(tt.text); got != tt.want {
				t.Errorf("Classify(%q) = %s, want %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestNewWords_B3_Errors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                   string
		yes, no, yesAdd, noAdd []string
		want                   string
	}{
		{"in both", []string{"va"}, []string{"VA"}, nil, nil, `confirm.no: "VA" is both`},
		{"added against a default", nil, nil, nil, []string{"Sí"}, `confirm.no_add: "Sí" is both`},
		{"default against a replaced list", nil, []string{"okay"}, nil, nil, `confirm.no: "okay" is both`},
		{"both added", nil, nil, []string{"va"}, []string{"va!"}, `confirm.no_add: "va!" is both`},
		{"blank", nil, nil, []string{" "}, nil, `confirm.yes_add: " " has no words`},
		{"only punctuation", nil, nil, []string{"..."}, nil, "has no words"},
		{"question", nil, nil, []string{"ok?"}, nil, "question mark"},
		{"endless", nil, nil, []string{strings.Repeat("a", 2000)}, nil, "too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewWords(tt.yes, tt.no, tt.yesAdd, tt.noAdd)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// Not parallel: it counts allocations.
func TestClassify_LongTextIsOtherAndCheap(t *testing.T) {
	w := defaultWords(t)
	long := strings.Repeat("sí ", 1<<20)
	if got := w.Classify(long); got != Other {
		t.Errorf("a 4 MiB yes is %s", got)
	}
	if n := testing.AllocsPerRun(3, func() { w.Classify(long) }); n > 0 {
		t.Errorf("%v allocations for a long text, want none", n)
	}
}

func FuzzClassify(f *testing.F) {
	for line := range strings.Lines(readAnswers(f)) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			f.Add(text)
		}
	}
	w := defaultWords(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := w.Classify(text)
		if len(text) > maxAnswer/4 || strings.TrimSpace(text) == "" {
			return
		}
		if got != Yes && got != No && got != Other {
			t.Fatalf("class %q", got)
		}
		same := map[string]string{
			// Words that are in no phrase of several words.
			"courtesy behind": text + " porfa", "courtesy before": "plz " + text, "space": "\t " + text + "\n",
			"exclamation": text + " !", "emoji": text + " 🙂",
		}
		for how, changed := range same {
			if again := w.Classify(changed); again != got {
				t.Errorf("%s: %q is %s, %q is %s", how, text, got, changed, again)
			}
		}
		never := map[string]string{"question": text + "?", "other word": text + " mañana", "yes and no": "yes no " + text}
		for how, changed := range never {
			if again := w.Classify(changed); again != Other {
				t.Errorf("%s: %q is %s, want other", how, changed, again)
			}
		}
	})
}
