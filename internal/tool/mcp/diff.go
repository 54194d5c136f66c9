package mcptool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Diff is the unified diff of two locks, card by card, as the lock file writes
// them; "" where they are the same.
func Diff(from, to Lock) (string, error) {
	var b strings.Builder
	servers := slices.Concat(from.Servers(), to.Servers())
	slices.Sort(servers)
	for _, server := range slices.Compact(servers) {
		var names []string
		for _, l := range []Lock{from, to} {
			for name := range l.servers[server] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			d, err := diffCard(server, name, from, to)
			if err != nil {
				return "", err
			}
			b.WriteString(d)
		}
	}
	return b.String(), nil
}

func diffCard(server, name string, from, to Lock) (string, error) {
	texts := make([]string, 2)
	files := []string{"pinned", "server"}
	for i, l := range []Lock{from, to} {
		c, ok := l.Card(server, name)
		if !ok {
			files[i] = "/dev/null"
			continue
		}
		one, err := Lock{}.with(server, map[string]Card{name: c}).Encode()
		if err != nil {
			return "", err
		}
		texts[i] = string(one)
		files[i] += "/" + oneLine(server) + "/" + oneLine(name)
	}
	d, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines(texts[0]), B: lines(texts[1]), FromFile: files[0], ToFile: files[1], Context: 3,
	})
	if err != nil {
		return "", fmt.Errorf("comparing cards: %w", err)
	}
	return d, nil
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return difflib.SplitLines(strings.TrimSuffix(s, "\n"))
}

// oneLine makes a remote name fit for a line of output.
func oneLine(s string) string {
	return strings.Join(strings.Fields(string(visible([]byte(s)))), " ")
}
