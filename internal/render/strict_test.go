package render

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The functions here read a message as its platform does, but refuse whatever
// is not clearly well formed. They return what a reader sees.

// readHTML reads Telegram's HTML.
func readHTML(text string) (seen string, err error) {
	var out strings.Builder
	var stack []string
	for text != "" {
		switch text[0] {
		case '&':
			i := slices.IndexFunc([]string{"&lt;", "&gt;", "&amp;", "&quot;"}, func(e string) bool { return strings.HasPrefix(text, e) })
			if i < 0 {
				return "", fmt.Errorf("unknown entity at %.20q", text)
			}
			out.WriteByte(`<>&"`[i])
			text = text[strings.IndexByte(text, ';')+1:]
		case '>':
			return "", fmt.Errorf("bare > at %.20q", text)
		case '<':
			m := regexp.MustCompile(`^<(/?)(blockquote|pre|code|a|b|i|u|s)( href="[^"<>\s]+"| class="language-[\w+.#-]+")?>`).FindStringSubmatch(text)
			if m == nil {
				return "", fmt.Errorf("unknown tag at %.20q", text)
			}
			switch {
			case m[1] == "/":
				if len(stack) == 0 || stack[len(stack)-1] != m[2] || m[3] != "" {
					return "", fmt.Errorf("%s closes %v", m[0], stack)
				}
				stack = stack[:len(stack)-1]
			case (m[2] == "a") != strings.HasPrefix(m[3], " href"), strings.HasPrefix(m[3], " class") && m[2] != "code":
				return "", fmt.Errorf("wrong attribute: %s", m[0])
			case slices.Contains(stack, m[2]):
				return "", fmt.Errorf("%s within itself", m[0])
			case (m[2] == "code" || m[2] == "pre") && len(stack) > 0 && !slices.Equal(stack, []string{"blockquote"}) && !slices.Equal(stack, []string{"pre"}),
				m[2] != "code" && slices.Contains(stack, "pre"), slices.Contains(stack, "code"):
				return "", fmt.Errorf("%s within %v", m[0], stack)
			default:
				stack = append(stack, m[2])
			}
			text = text[len(m[0]):]
		default:
			out.WriteByte(text[0])
			text = text[1:]
		}
	}
	if len(stack) > 0 {
		return "", fmt.Errorf("%v left open", stack)
	}
	return out.String(), nil
}

// marks is what readers of line-wise markup share: marks that toggle.
type marks struct {
	out   strings.Builder
	stack []string
}

func (m *marks) toggle(mark, before, after string) error {
	if n := len(m.stack); n > 0 && m.stack[n-1] == mark {
		if r, _ := utf8.DecodeLastRuneInString(before); unicode.IsSpace(r) {
			return fmt.Errorf("white space before a closing %s", mark)
		}
		m.stack = m.stack[:n-1]
		return nil
	}
	if slices.Contains(m.stack, mark) {
		return fmt.Errorf("%s closes over %v", mark, m.stack)
	}
	if r, _ := utf8.DecodeRuneInString(after); after == "" || unicode.IsSpace(r) {
		return fmt.Errorf("white space behind an opening %s", mark)
	}
	m.stack = append(m.stack, mark)
	return nil
}

func (m *marks) lineEnd() error {
	if len(m.stack) > 0 {
		return fmt.Errorf("%v open at the end of a line", m.stack)
	}
	m.out.WriteByte('\n')
	return nil
}

// block reads a block of code that text begins with.
func (m *marks) block(text string) (rest string, err error) {
	head, body, ok := strings.Cut(text, "\n")
	content, rest, closed := strings.Cut(body, "\n```")
	if strings.Contains(head[3:], "`") || !ok || !closed {
		return "", fmt.Errorf("block of code is not closed: %.30q", text)
	}
	if strings.Contains(content, "```") {
		return "", errors.New("block of code ends early")
	}
	if rest != "" && rest[0] != '\n' {
		return "", fmt.Errorf("text behind a block of code: %.20q", rest)
	}
	m.out.WriteString(content)
	return rest, nil
}

// readDiscord reads Discord's Markdown. raw are the addresses in it.
func readDiscord(text string, raw []string) (seen string, err error) {
	m := &marks{}
	whole, start := text, true
	for text != "" {
		before := whole[:len(whole)-len(text)]
		if start {
			start = false
			text = strings.TrimPrefix(text, "> ")
			text = regexp.MustCompile("^#{1,3} ").ReplaceAllString(text, "")
			if strings.HasPrefix(text, "```") {
				if text, err = m.block(text); err != nil {
					return "", err
				}
			}
			continue
		}
		if a := verbatim(text, raw); a > 0 {
			m.out.WriteString(text[:a])
			text = text[a:]
			continue
		}
		size := 1
		switch c := text[0]; c {
		case '\n':
			err, start = m.lineEnd(), true
		case '\\':
			if len(text) < 2 || alnum(rune(text[1])) || text[1] <= ' ' || text[1] > 126 {
				return "", fmt.Errorf("backslash before %.10q", text)
			}
			m.out.WriteByte(text[1])
			size = 2
		case '`':
			fence := text[:len(text)-len(strings.TrimLeft(text, "`"))]
			rest := text[len(fence):]
			end := closing(rest, fence)
			if end < 0 {
				return "", fmt.Errorf("code is not closed: %.20q", text)
			}
			m.out.WriteString(rest[:end])
			size = 2*len(fence) + end
		case '*', '_', '~':
			mark := text[:len(text)-len(strings.TrimLeft(text, string(c)))]
			if len(mark) > 2 || c == '~' && len(mark) != 2 {
				return "", fmt.Errorf("run of marks %q", mark)
			}
			size = len(mark)
			err = m.toggle(mark, before, text[size:])
		case '[':
			err = m.toggle("[", before, text[1:])
		case ']':
			if !slices.Contains(m.stack, "[") {
				m.out.WriteByte(c)
				break
			}
			target := regexp.MustCompile(`^\]\(\S+?\)`).FindString(text)
			if target == "" || m.stack[len(m.stack)-1] != "[" {
				return "", fmt.Errorf("link without target: %.20q", text)
			}
			m.stack, size = m.stack[:len(m.stack)-1], len(target)
		case '|', '<':
			return "", fmt.Errorf("bare %c", c)
		default:
			m.out.WriteByte(c)
		}
		if err != nil {
			return "", err
		}
		text = text[size:]
	}
	return m.out.String(), m.lineEnd()
}

// closing finds the run of backticks that is exactly fence.
func closing(text, fence string) int {
	for i := 0; i < len(text); {
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if run == len(fence) {
			return i
		}
		i += max(run, 1)
	}
	return -1
}

func verbatim(text string, raw []string) int {
	most := 0
	for _, a := range raw {
		if strings.HasPrefix(text, a) {
			most = max(most, len(a))
		}
	}
	return most
}

// readWhatsApp reads WhatsApp's formatting.
func readWhatsApp(text string, raw []string) (seen string, err error) {
	m := &marks{}
	whole, start := text, true
	for text != "" {
		before := whole[:len(whole)-len(text)]
		if start {
			start = false
			text = strings.TrimPrefix(text, "> ")
			if strings.HasPrefix(text, "```") {
				if text, err = m.block(text); err != nil {
					return "", err
				}
			}
			continue
		}
		if a := verbatim(text, raw); a > 0 {
			m.out.WriteString(text[:a])
			text = text[a:]
			continue
		}
		size := 1
		switch c := text[0]; c {
		case '\n':
			err, start = m.lineEnd(), true
		case '*', '_', '~', '`':
			p, _ := utf8.DecodeLastRuneInString(before)
			n, _ := utf8.DecodeRuneInString(text[1:])
			if before == "" {
				p = ' '
			}
			if len(text) == 1 {
				n = ' '
			}
			switch {
			case p == '\u200b' && n == '\u200b', // shielded
				(alnum(p) || unicode.IsSpace(n)) && (unicode.IsSpace(p) || alnum(n)):
				m.out.WriteByte(c)
			case c == '`':
				end := strings.IndexByte(text[1:], '`')
				if end < 0 {
					return "", fmt.Errorf("code is not closed: %.20q", text)
				}
				m.out.WriteString(text[1 : end+1])
				size = end + 2
			default:
				err = m.toggle(string(c), before, text[1:])
			}
		default:
			m.out.WriteByte(c)
		}
		if err != nil {
			return "", err
		}
		text = text[size:]
	}
	return m.out.String(), m.lineEnd()
}
