package locale

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// maxTag bounds the language tags that are looked at: they come from
// platforms, and longer ones than this mean nothing.
const maxTag = 64

// Catalog has all texts in all languages. It never changes: a new
// configuration is a new Catalog. Its methods take any string as a language.
type Catalog struct {
	texts     map[string]map[string]template // language → key → text, complete
	missing   map[string][]string            // language → keys it borrowed
	languages []string
	tags      []language.Tag // of languages, same order
	matcher   language.Matcher
	bot       string // the bot's language, or en if that has no texts
	botLang   string // the bot's language as configured
}

// New builds a catalog. botLang is the bot's language, a BCP 47 tag ("" is
// en). overrides are the operator's texts by language, with nested or dotted keys; a language
// that isn't built in is added by them. An unknown key or placeholder, an
// empty text, and what isn't a language tag are errors that name the key.
//
// A text that an added language doesn't have comes from its parent (es for
// es-CO), else from the bot's language, else from English.
func New(botLang string, overrides map[string]map[string]any) (*Catalog, error) {
	if botLang == "" {
		botLang = language.English.String()
	}
	if tag, err := language.Parse(botLang); err != nil || tag == language.Und {
		return nil, fmt.Errorf("bot.lang: %q is not a language tag (en, es, pt-BR)", botLang)
	}
	read, err := readOverrides(overrides)
	if err != nil {
		return nil, err
	}
	own := map[language.Tag]map[string]string{language.English: english(), language.Spanish: spanish()}
	for tag, texts := range read {
		merged := make(map[string]string)
		maps.Copy(merged, own[tag])
		maps.Copy(merged, texts)
		// One text for the question is enough: it serves buttons too (F2).
		if _, ok := texts[ConfirmButtons]; !ok {
			if text, ok := texts[Confirm]; ok {
				merged[ConfirmButtons] = text
			}
		}
		own[tag] = merged
	}

	c := &Catalog{botLang: botLang, texts: make(map[string]map[string]template), missing: make(map[string][]string)}
	c.tags = slices.Collect(maps.Keys(own))
	slices.SortFunc(c.tags, func(a, b language.Tag) int { return strings.Compare(a.String(), b.String()) })
	for _, t := range c.tags {
		c.languages = append(c.languages, t.String())
	}
	c.matcher = language.NewMatcher(c.tags)
	c.bot = language.English.String()
	c.bot = c.Resolve(botLang)

	for _, tag := range c.tags {
		if err := c.complete(tag, own); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// complete fills in the texts of tag, its own first.
func (c *Catalog) complete(tag language.Tag, own map[language.Tag]map[string]string) error {
	chain := []language.Tag{tag}
	for t := tag.Parent(); t != language.Und; t = t.Parent() {
		chain = append(chain, t)
	}
	related := len(chain)
	chain = append(chain, c.tags[slices.Index(c.languages, c.bot)], language.English)

	lang := tag.String()
	c.texts[lang] = make(map[string]template)
	for key := range english() {
		from := slices.IndexFunc(chain, func(t language.Tag) bool { _, ok := own[t][key]; return ok })
		text, err := parse(own[chain[from]][key], placeholders()[key])
		if err != nil {
			return fmt.Errorf("locale.%s.%s: %w", lang, key, err)
		}
		c.texts[lang][key] = text
		if from >= related {
			c.missing[lang] = append(c.missing[lang], key)
		}
	}
	slices.Sort(c.missing[lang])
	return nil
}

// Text is the text of key in lang (any tag, resolved by [Catalog.Resolve])
// with the values put in. A key that doesn't exist is its own text.
func (c *Catalog) Text(lang, key string, args ...Arg) string {
	text, ok := c.texts[c.Resolve(lang)][key]
	if !ok {
		return key
	}
	return text.expand(args)
}

// Resolve gives the language whose texts a chat in lang gets (behaviour F1):
// lang itself, a relative of the same language (es for es-CO), else the bot's
// language if it has texts, else English. The answer is one of Languages.
func (c *Catalog) Resolve(lang string) string {
	if match, ok := c.Match(lang); ok {
		return match
	}
	return c.bot
}

// Match is Resolve without the fallback: ok is false where there are no texts
// in that language.
func (c *Catalog) Match(lang string) (match string, ok bool) {
	if slices.Contains(c.languages, lang) {
		return lang, true
	}
	if lang == "" || len(lang) > maxTag {
		return "", false
	}
	tag, err := language.Parse(lang)
	if err != nil {
		return "", false
	}
	_, i, confidence := c.matcher.Match(tag)
	// The matcher also offers a language that speakers of the first often
	// know (es for eu): that isn't a text in their language.
	want, _ := tag.Base()
	have, _ := c.tags[i].Base()
	if confidence == language.No || want != have {
		return "", false
	}
	return c.languages[i], true
}

// Languages lists the languages that have texts, sorted: BCP 47 tags.
func (c *Catalog) Languages() []string { return slices.Clone(c.languages) }

// Missing lists the keys for which an added language has no text of its own,
// sorted; none for the built-in ones.
func (c *Catalog) Missing(lang string) []string { return slices.Clone(c.missing[lang]) }
