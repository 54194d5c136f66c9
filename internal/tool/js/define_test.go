package js

import (
	"testing"
)

func TestLoad_F1_TitlesByLanguage(t *testing.T) {
	t.Parallel()
	m, err := Load(t.Context(), File(write(t, "export const tools = {\n order: { title: { es: 'Pedir', en: 'Order' }, handler() {} },\n}")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(t.Context()) })
	tl := m.Tools()[0]
	for lang, want := range map[string]string{"es": "Pedir", "en": "Order", "fr": "Order"} {
		if got := tl.TitleIn(lang); got != want {
			t.Errorf("title in %s is %q, want %q", lang, got, want)
		}
	}
}
