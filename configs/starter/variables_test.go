package starter

import (
	"regexp"
	"slices"
	"testing"
)

// written are the variables that init's configurations name, by key.
func written() (byKey map[string][]string, all []string) {
	byKey = map[string][]string{}
	add := func(yaml string) {
		for _, m := range keyed().FindAllStringSubmatch(yaml, -1) {
			byKey[m[1]] = append(byKey[m[1]], m[2])
		}
	}
	for _, c := range Channels() {
		add(c.yaml)
		for _, v := range c.variables {
			all = append(all, v.Name)
		}
	}
	for _, m := range Models() {
		add(m.yaml)
		for _, v := range m.variables {
			all = append(all, v.Name)
		}
	}
	return byKey, all
}

// keyed finds variables as values of keys, also within one line.
func keyed() *regexp.Regexp {
	return regexp.MustCompile(`(?m)\b([a-z_]+): "?\$\{([A-Z][A-Z0-9_]*)`)
}

// A variable that a document names for what init writes, too, has init's name
// for it: who follows both sets it once.
func TestDocs_VariablesAreThoseOfInit(t *testing.T) {
	t.Parallel()
	byKey, all := written()
	if len(all) < 10 || !slices.Contains(byKey["auth_token"], "TWILIO_AUTH_TOKEN") {
		t.Fatalf("init's variables were not found: %v", byKey)
	}
	for key, names := range byKey {
		for _, name := range names {
			if !slices.Contains(all, name) {
				t.Errorf("init writes %s: ${%s}, and doesn't name that variable", key, name)
			}
		}
	}
	provider := regexp.MustCompile(`provider: ([a-z_]+)`)
	named := regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)|export ([A-Z][A-Z0-9_]*)=`)
	docs := documents(t)
	lines := regexp.MustCompile(`(?m)^.*$`)
	for path, text := range docs {
		for _, line := range lines.FindAllString(text, -1) {
			if p := provider.FindStringSubmatch(line); p != nil && !slices.ContainsFunc(Models(), func(m Model) bool { return m.Name == p[1] }) {
				continue // init has no such one
			}
			for _, m := range keyed().FindAllStringSubmatch(line, -1) {
				if names := byKey[m[1]]; names != nil && !slices.Contains(names, m[2]) {
					t.Errorf("%s: %s: ${%s}; init writes %v", path, m[1], m[2], names)
				}
			}
		}
	}
	for _, c := range Channels() {
		for _, m := range named.FindAllStringSubmatch(docs[c.Page], -1) {
			if name := m[1] + m[2]; !slices.Contains(all, name) {
				t.Errorf("%s names %s, which init doesn't", c.Page, name)
			}
		}
	}
}
