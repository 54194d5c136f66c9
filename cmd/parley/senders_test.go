package main

import (
	"strings"
	"testing"
)

func TestSenders_CodesAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"K7WQ-4MF2": "K7WQ-4MF2", "k7wq4mf2": "K7WQ-4MF2", " k7wq 4mf2 ": "K7WQ-4MF2", "short": "SHORT", "": ""} {
		if got := tidyCode(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := plain("Eva\x1b[2J\u202e\u009b"); got != "Eva[2J" {
		t.Errorf("got %q", got)
	}
}

func TestSenders_Usage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"senders", "approve"}, {"senders", "remove", "tg"}, {"senders", "nosuch"}, {"check", "-c", ""}} {
		var out, errOut strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code != exitUsage {
			t.Errorf("%q: exit code %d: %s%s", args, code, out.String(), errOut.String())
		}
	}
}
