package httptool

import (
	"net/url"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// fill makes the URL of a call. extra is added to the query. What can't be
// filled in is a violation of the arguments.
func (t template) fill(vs values, extra []param) (string, []tool.Violation) {
	f := filler{values: vs}
	host := f.join(t.host, hostText)
	path := f.join(t.path, url.PathEscape)
	f.checkPath(t.path)
	var b strings.Builder
	b.WriteString(t.scheme + "://" + host + path)
	sep := byte('?')
	add := func(s string) {
		b.WriteByte(sep)
		b.WriteString(s)
		sep = '&'
	}
	for _, p := range t.query {
		switch {
		case p.bare:
			add(p.raw)
		case len(p.value) == 1 && p.value[0].Name != "" && vs.absent(p.value[0].Name):
			// An argument that wasn't given leaves its key out.
		default:
			f.optional = true
			add(p.raw + "=" + f.join(p.value, url.QueryEscape))
			f.optional = false
		}
	}
	for _, p := range extra {
		add(url.QueryEscape(p.key) + "=" + url.QueryEscape(p.value))
	}
	return b.String(), f.bad
}

type filler struct {
	values   values
	optional bool
	bad      []tool.Violation
}

func (f *filler) join(ps []tool.Piece, escape func(string) string) string {
	var b strings.Builder
	for _, p := range ps {
		if p.Name == "" {
			b.WriteString(p.Text)
			continue
		}
		text, ok := f.values.scalar(p.Name)
		switch {
		case ok && text == "" && !f.optional:
			f.violation(p.Name, "must not be empty: it is part of the address")
		case ok:
			b.WriteString(escape(text))
		case f.values.absent(p.Name) && f.optional:
		case f.values.absent(p.Name):
			f.violation(p.Name, "is needed: it is part of the address")
		default:
			f.violation(p.Name, "must be a text, a number or a boolean: it is part of the address")
		}
	}
	return b.String()
}

// checkPath refuses what would climb to another path. A server may decode an
// escaped slash before it resolves "..", so each part within counts.
func (f *filler) checkPath(ps []tool.Piece) {
	var segment strings.Builder
	var name string
	end := func() {
		for part := range strings.FieldsFuncSeq(segment.String(), func(c rune) bool { return c == '/' || c == '\\' }) {
			if name != "" && (part == "." || part == "..") {
				f.violation(name, "must not be . or ..")
				break
			}
		}
		segment.Reset()
		name = ""
	}
	for _, p := range ps {
		if p.Name != "" {
			text, _ := f.values.scalar(p.Name)
			segment.WriteString(text)
			name = p.Name
			continue
		}
		for i, s := range strings.Split(p.Text, "/") {
			if i > 0 {
				end()
			}
			if dec, err := url.PathUnescape(s); err == nil {
				s = dec
			}
			segment.WriteString(s)
		}
	}
	end()
}

func (f *filler) violation(name, msg string) {
	f.bad = append(f.bad, tool.Violation{Path: "/" + name, Message: msg})
}

// hostText lets through what a host can be made of. Anything else would end
// the host early; it is turned into what no list holds.
func hostText(s string) string {
	if strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") != "" {
		return "!"
	}
	return s
}
