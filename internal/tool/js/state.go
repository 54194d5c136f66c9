package js

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// RuleModuleState is the finding that a handler keeps something in a variable
// of the module: each runtime has its own, and none is saved.
const RuleModuleState = "module-state"

// written is a module-level variable that code below writes.
type written struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Name string `json:"name"`
}

func (m *Module) stateFindings() []tool.Finding {
	var out []tool.Finding
	for _, w := range m.prog.Written {
		out = append(out, tool.Finding{Rule: RuleModuleState, Message: fmt.Sprintf(
			"%s:%d: %s is written while tools run, but each runtime has its own and none is saved: use ctx.store",
			m.src.display(w.File), w.Line, w.Name)})
	}
	return out
}

// readOwn reads one of the user's files, named as the bundle names it; "" is
// the script itself.
func (m *Module) readOwn(name string) (string, error) {
	if name == "" {
		name = m.src.path
		if m.src.onDisk() {
			name = filepath.Base(name)
		}
	}
	b, err := m.src.read(name)
	return string(b), err
}

// scanState reads the user's files for module-level let, var, Map and Set that
// are written inside functions. It sees texts, not scopes: a parameter of the
// same name makes it wrong, which is why it only advises.
func (m *Module) scanState(own []string) []written {
	declared := regexp.MustCompile(`^(?:export\s+)?(?:(let|var)\s+([\w$]+)|const\s+([\w$]+)[^=\n]*=\s*new\s+(?:Weak)?(?:Map|Set)\b)`)
	var out []written
	for _, name := range own {
		text, err := m.readOwn(name)
		if err != nil {
			continue
		}
		lines, inside := blankOut(text)
		for i, line := range lines {
			d := declared.FindStringSubmatch(line)
			if d == nil {
				continue
			}
			variable, writes := d[2]+d[3], `\s*(?:[-+*/%&|^?]{0,3}=[^=>]|\+\+|--)`
			if d[3] != "" {
				writes = `\s*\.\s*(?:set|add|delete|clear)\s*\(`
			}
			re := regexp.MustCompile(`(?:^|[^\w$.])` + regexp.QuoteMeta(variable) + writes)
			if re.MatchString(inside) {
				out = append(out, written{name, i + 1, variable})
			}
		}
	}
	return out
}

// blankOut takes comments and the insides of strings away. It gives the lines
// of what is outside all braces, and the text of what is inside.
func blankOut(text string) (top []string, inside string) {
	var outer, inner strings.Builder
	depth := 0
	put := func(c byte) {
		if c == '\n' {
			outer.WriteByte(c)
			inner.WriteByte(c)
		} else if depth > 0 {
			inner.WriteByte(c)
		} else {
			outer.WriteByte(c)
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '/':
			if i+1 < len(text) && (text[i+1] == '/' || text[i+1] == '*') {
				end := "\n"
				if text[i+1] == '*' {
					end = "*/"
				}
				n := strings.Index(text[i+2:], end)
				if n < 0 {
					n = len(text) - i - 2
				}
				skipped := text[i : i+2+n]
				for range strings.Count(skipped, "\n") {
					put('\n')
				}
				i += 1 + n
				if end == "*/" {
					i += len(end)
				}
				continue
			}
			put(c)
		case '"', '\'', '`':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				} else if text[i] == '\n' {
					put('\n')
					if c != '`' {
						break
					}
				}
			}
			put('_')
		case '{', '(', '[':
			depth++
			put(c)
		case '}', ')', ']':
			put(c)
			depth = max(0, depth-1)
		default:
			put(c)
		}
	}
	return strings.Split(outer.String(), "\n"), inner.String()
}
