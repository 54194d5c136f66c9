package tree

import "strings"

// Expand replaces ${VAR} and ${VAR:-default} in a value; $${ is a literal ${.
// A default is taken as it is, up to the first }, when the variable is unset
// or empty. bad names what is
// wrong, without any value.
func Expand(s string, env func(string) (string, bool)) (out, bad string) {
	if !strings.Contains(s, "${") {
		return s, ""
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), ""
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		body, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			return "", `"${" without "}"; write $${ for a literal ${`
		}
		name, def, hasDefault := strings.Cut(body, ":-")
		if !isVar(name) {
			return "", `"${` + Clip(body) + `}" is no variable: write ${NAME} or ${NAME:-default}, and $${ for a literal ${`
		}
		val, ok := env(name)
		switch {
		case hasDefault && val == "":
			val = def
		case !ok:
			return "", "environment variable " + name + " is not set; set it, or give a default as ${" + name + ":-…}"
		}
		b.WriteString(val)
		s = rest
	}
}

// isVar follows POSIX: letters, digits and underscores, no digit first.
func isVar(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
