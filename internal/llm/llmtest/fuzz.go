package llmtest

import (
	"bufio"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/llm"
)

// Wire is the inside of a provider: what reads a body, what reads an error's,
// and what encodes a request.
type Wire struct {
	Read    func(r *bufio.Reader, onText func(string)) (llm.Response, error)
	Refused func(status int, body []byte) *llm.Error
	Encode  func(req llm.Request) error
}

// longestError is the most that any error may be, in bytes: a cause of 400
// runes and the words around it.
const longestError = 3000

// FuzzAnswers proves that no body, whole or streamed, makes reading panic, or
// gives an answer that breaks the contract or can't be sent again.
func FuzzAnswers(f *testing.F, w Wire, seeds []string) {
	f.Helper()
	for _, body := range append(seeds, "", "null", "[]", "{}", "data: {}\n\n", "\xff") {
		f.Add(body, true)
		f.Add(body, false)
	}
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		var onText func(string)
		last := ""
		if stream {
			onText = func(text string) {
				if !strings.HasPrefix(text, last) {
					t.Fatalf("%q, then %q", last, text)
				}
				last = text
			}
		}
		got, err := w.Read(bufio.NewReader(strings.NewReader(body)), onText)
		for _, status := range []int{0, 400, 429, 500} {
			if e := w.Refused(status, []byte(body)); e.Class == "" || len(e.Error()) > longestError {
				t.Fatalf("status %d gives %q", status, e)
			}
		}
		if err != nil {
			return
		}
		if got.Stop == "" {
			t.Fatal("no stop reason")
		}
		ids := map[string]bool{}
		for _, c := range got.Calls {
			if c.ID == "" || ids[c.ID] {
				t.Fatalf("id %q is empty or there twice", c.ID)
			}
			ids[c.ID] = true
		}
		again := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Text: got.Text, Calls: got.Calls, Opaque: got.Opaque}}}
		if err := w.Encode(again); err != nil {
			t.Fatalf("can't be sent again: %v", err)
		}
	})
}
