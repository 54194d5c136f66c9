package locale

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
)

// readOverrides turns the configuration's texts into flat ones by canonical
// language tag, each checked.
func readOverrides(overrides map[string]map[string]any) (map[language.Tag]map[string]string, error) {
	read := make(map[language.Tag]map[string]string, len(overrides))
	for _, lang := range slices.Sorted(maps.Keys(overrides)) {
		tag, err := language.Parse(lang)
		if err != nil || tag == language.Und {
			return nil, fmt.Errorf("locale.%s: not a language tag (en, es, pt-BR)", lang)
		}
		if _, twice := read[tag]; twice {
			return nil, fmt.Errorf("locale.%s: the language %s is there twice", lang, tag)
		}
		flat := make(map[string]string)
		if err := flatten(flat, "", overrides[lang]); err != nil {
			return nil, fmt.Errorf("locale.%s.%w", lang, err)
		}
		if len(flat) > 0 {
			read[tag] = flat
		}
	}
	return read, nil
}

// flatten joins nested keys by dots. Its errors begin with the key.
func flatten(into map[string]string, prefix string, texts map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		key := prefix + name
		switch v := texts[name].(type) {
		case map[string]any:
			if err := flatten(into, key+".", v); err != nil {
				return err
			}
		case string:
			if _, twice := into[key]; twice {
				return fmt.Errorf("%s: is there twice", key)
			}
			if err := CheckText(key, v); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			into[key] = v
		default:
			return fmt.Errorf("%s: must be a text, not %T", key, v)
		}
	}
	return nil
}

// Known tells whether there is a text of that key.
func Known(key string) bool {
	_, ok := english()[key]
	return ok
}

// CheckText refuses a text that could never be shown as it was meant, and a key
// that doesn't exist. The error doesn't name the key.
func CheckText(key, text string) error {
	known := english()
	if _, ok := known[key]; !ok {
		return fmt.Errorf("unknown key, did you mean %s?", nearest(key, slices.Sorted(maps.Keys(known))))
	}
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("is empty")
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	}) {
		return fmt.Errorf("holds control characters or isn't UTF-8")
	}
	_, err := parse(text, placeholders()[key])
	return err
}

// nearest is the key that takes the fewest changes to write instead.
func nearest(key string, keys []string) string {
	return slices.MinFunc(keys, func(a, b string) int { return distance(key, a) - distance(key, b) })
}

// distance is Levenshtein's, in bytes, ignoring case.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
