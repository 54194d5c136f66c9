package locale

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

// Age says how long ago something was. Less than a minute, and a clock that
// went backwards, are "just now".
func (c *Catalog) Age(lang string, age time.Duration) string {
	count := func(one, many string, unit time.Duration) string {
		n := int(age / unit)
		if n == 1 {
			return c.Text(lang, one)
		}
		return c.Text(lang, many, Arg{"n", strconv.Itoa(n)})
	}
	switch {
	case age < time.Minute:
		return c.Text(lang, AgeNow)
	case age < time.Hour:
		return count(AgeMinute, AgeMinutes, time.Minute)
	case age < 24*time.Hour:
		return count(AgeHour, AgeHours, time.Hour)
	default:
		return count(AgeDay, AgeDays, 24*time.Hour)
	}
}

// Media is the notice for a file that can't be read; mediaType is
// channels.Media.Type.
func (c *Catalog) Media(lang, mediaType string) string {
	types := mediaTypes()
	if !slices.Contains(types, mediaType) {
		mediaType = types[len(types)-1]
	}
	return c.Text(lang, MediaUnsupported, Arg{"type", c.Text(lang, "media.type."+mediaType)})
}

// Name is a language's own name for itself; its tag where there are no texts
// in it, and "" for what isn't a language tag.
func (c *Catalog) Name(lang string) string {
	if match, ok := c.Match(lang); ok && !slices.Contains(c.missing[match], LanguageName) {
		return c.Text(match, LanguageName)
	}
	if lang == "" || len(lang) > maxTag {
		return ""
	}
	tag, err := language.Parse(lang)
	if err != nil {
		return ""
	}
	// Only language and region: the rest of a tag can be free words, and
	// this goes into the system prompt.
	base, _, region := tag.Raw()
	switch {
	case base.String() == "und":
		return ""
	case region.String() == "ZZ":
		return base.String()
	default:
		return base.String() + "-" + region.String()
	}
}

// List names all languages with their tags, for /lang.
func (c *Catalog) List() string {
	names := make([]string, len(c.languages))
	for i, lang := range c.languages {
		names[i] = lang + " (" + c.Name(lang) + ")"
	}
	return strings.Join(names, ", ")
}

// SystemLine is the line of the system prompt about the chat's language. It
// names lang itself, even where the texts are in another language; for what
// isn't a language tag it names the bot's.
func (c *Catalog) SystemLine(lang string) string {
	name := c.Name(lang)
	if name == "" {
		name = c.Name(c.botLang)
	}
	return c.Text(lang, SystemLanguage, Arg{"language", name})
}
