package script

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern is a regular expression over folded texts.
type pattern struct {
	re    *regexp.Regexp
	names []string // of the groups; [0] is ""
	// needs are literals of which at least one is in every match; nil where
	// none are known. Looking for them first is what keeps a script of many
	// rules fast.
	needs []string
}

// compile makes a pattern. Texts are folded to lower case, so the expression
// is too: the engine then looks for literals, which it can't where it has to
// ignore case itself.
func compile(expr string) (*pattern, error) {
	expr = lowerPattern(foldPattern(expr))
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &pattern{re: re, names: re.SubexpNames(), needs: required(tree.Simplify())}, nil
}

// keptCase are the parts of an expression whose case has a meaning: escapes,
// and what opens a group.
var keptCase = regexp.MustCompile(`\\[pPx]\{[^}]*\}|\\.|\(\?P?<[^>]*>|\(\?[a-zA-Z-]*[:)]`)

// lowerPattern makes an expression's literals lower case.
func lowerPattern(expr string) string {
	var b strings.Builder
	at := 0
	for _, m := range keptCase.FindAllStringIndex(expr, -1) {
		b.WriteString(strings.ToLower(expr[at:m[0]]))
		b.WriteString(expr[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(strings.ToLower(expr[at:]))
	return b.String()
}

// required returns literals of which one is in every match.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if found := required(sub); shortest(found) > shortest(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			found := required(sub)
			if found == nil {
				return nil
			}
			all = append(all, found...)
		}
		return all
	default: // may match without any particular text
	}
	return nil
}

func shortest(literals []string) int {
	if len(literals) == 0 {
		return 0
	}
	n := len(literals[0])
	for _, l := range literals[1:] {
		n = min(n, len(l))
	}
	return n
}

func (p *pattern) possible(text string) bool {
	if p.needs == nil {
		return true
	}
	for _, l := range p.needs {
		if strings.Contains(text, l) {
			return true
		}
	}
	return false
}

// match returns the groups as the original has them; nil is no match.
func (p *pattern) match(f folded) []string {
	if !p.possible(f.text) {
		return nil
	}
	if len(p.names) == 1 {
		if !p.re.MatchString(f.text) {
			return nil
		}
		return []string{""}
	}
	at := p.re.FindStringSubmatchIndex(f.text)
	if at == nil {
		return nil
	}
	groups := make([]string, len(at)/2)
	for i := range groups {
		if at[2*i] >= 0 {
			groups[i] = f.span(at[2*i], at[2*i+1])
		}
	}
	return groups
}
