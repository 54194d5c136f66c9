package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Canonical gives the one spelling of a JSON value: keys sorted by bytes, no
// white space, and a number by its exact decimal value, so that 1, 1.0 and
// 1e0 are the same (behaviour C5). It fails for what isn't one JSON value, has
// a key twice, is nested deeper than 64 levels or holds a number beyond
// 400 digits.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	v, err := parseValue(raw)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return v.write(nil, true), nil
}

// ArgsHash is the SHA-256, in hex, of the canonical arguments: equal exactly
// for the same arguments. What isn't JSON is hashed as it stands.
func ArgsHash(args json.RawMessage) string {
	canonical, err := Canonical(args)
	if err != nil {
		canonical = append([]byte("\x00raw\x00"), args...)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

var errNumber = errors.New("number too long or too large")

// decimal takes a JSON number apart: its sign, its digits without leading or
// trailing zeros ("" is zero) and the power of ten of the last digit.
func decimal(lit string) (neg bool, digits string, exp int, err error) {
	if len(lit) > maxNumberBytes {
		return false, "", 0, errNumber
	}
	rest, neg := strings.CutPrefix(lit, "-")
	mantissa, e, hasExp := strings.Cut(strings.ToLower(rest), "e")
	if hasExp {
		exp, err = strconv.Atoi(strings.TrimPrefix(e, "+"))
		if err != nil {
			return false, "", 0, errNumber
		}
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+frac, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return false, "", 0, nil
	}
	if exp > maxNumberBytes || exp < -maxNumberBytes {
		return false, "", 0, errNumber
	}
	exp += len(digits) - len(trimmed) - len(frac)
	if len(trimmed)+max(exp, -exp) > maxNumberDigits {
		return false, "", 0, errNumber
	}
	return neg, trimmed, exp, nil
}

// canonicalNumber spells the exact value of a literal that decimal accepts.
func canonicalNumber(lit string) string {
	neg, digits, exp, err := decimal(lit)
	if err != nil {
		return lit
	}
	if digits == "" {
		return "0"
	}
	var s string
	switch {
	case exp >= 0:
		s = digits + strings.Repeat("0", exp)
	case -exp < len(digits):
		s = digits[:len(digits)+exp] + "." + digits[len(digits)+exp:]
	default:
		s = "0." + strings.Repeat("0", -exp-len(digits)) + digits
	}
	if neg {
		s = "-" + s
	}
	return s
}

// SameNumber tells whether two JSON number literals have the same exact value.
func SameNumber(a, b string) bool {
	na, da, ea, errA := decimal(a)
	nb, db, eb, errB := decimal(b)
	return errA == nil && errB == nil && na == nb && da == db && ea == eb
}
