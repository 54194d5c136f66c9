package script

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
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

// compile makes a pattern. It is compiled for lower case, which lets the
// engine look for literals; ignoring case would not.
func compile(expr string) (*pattern, error) {
	tree, err := syntax.Parse(foldPattern(expr), syntax.Perl|syntax.FoldCase)
	if err != nil {
		return nil, err
	}
	lowerLiterals(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	p := &pattern{re: re, names: re.SubexpNames()}
	if tree, err = syntax.Parse(tree.String(), syntax.Perl); err == nil {
		p.needs = required(tree.Simplify())
	}
	return p, nil
}

// lowerLiterals turns literals into ones of lower case.
func lowerLiterals(re *syntax.Regexp) {
	if re.Op == syntax.OpLiteral {
		re.Flags &^= syntax.FoldCase
		for i, r := range re.Rune {
			re.Rune[i] = unicode.ToLower(r)
		}
	}
	for _, sub := range re.Sub {
		lowerLiterals(sub)
	}
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
