package channeltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels"
)

func (se *session) calls() int {
	if se.Calls == nil {
		return 0
	}
	return se.Calls()
}

// one runs call and checks that it made one call to the platform.
func (se *session) one(t *testing.T, what string, call func() error) error {
	t.Helper()
	before := se.calls()
	err := call()
	if n := se.calls() - before; se.Calls != nil && n != 1 {
		t.Errorf("%s made %d calls to the platform, want 1", what, n)
	}
	return err
}

func testSend(t *testing.T, s Setup) {
	se := start(t, s)
	part := channels.Part{Chat: se.Chat, Text: spicy, Key: "k1"}
	var got channels.Receipt
	err := se.one(t, "Send", func() (err error) { got, err = se.Adapter.Send(t.Context(), part); return })
	if err != nil {
		t.Fatalf("Send: %v", err)
	}
	if got.ID == "" {
		t.Error("the receipt has no id")
	}
	if se.Shown != nil && !slices.ContainsFunc(se.Shown(), func(s string) bool { return strings.Contains(s, spicy) }) {
		t.Errorf("shown is %q, want %q", se.Shown(), spicy)
	}
	caps := se.Adapter.Capabilities(se.Chat)
	if caps.Idempotent {
		again, err := se.Adapter.Send(t.Context(), part)
		if err != nil || again.ID != got.ID {
			t.Errorf("the same key again gave %q, %v; want %q", again.ID, err, got.ID)
		}
	}
	second, err := se.Adapter.Send(t.Context(), channels.Part{Chat: se.Chat, Text: "second", Key: "k2"})
	if err != nil || second.ID == got.ID {
		t.Errorf("a second message gave id %q, %v; the first has %q", second.ID, err, got.ID)
	}
	if caps.Buttons == nil {
		return
	}
	part = channels.Part{Chat: se.Chat, Text: "sure?", Key: "k3", Buttons: []channels.Button{
		{ID: "0123456789abcdef0123456789abcdef", Label: "Yes", Value: "yes"},
		{ID: "fedcba9876543210fedcba9876543210", Label: "No", Value: "no"},
	}}
	err = se.one(t, "Send with buttons", func() (err error) { got, err = se.Adapter.Send(t.Context(), part); return })
	if err != nil {
		t.Fatalf("Send with buttons: %v", err)
	}
	e, ok := se.Adapter.(channels.Editor)
	if !ok {
		return
	}
	err = se.one(t, "Edit", func() error {
		return e.Edit(t.Context(), got.ID, channels.Part{Chat: se.Chat, Text: "sure? → Yes", Key: "k4"})
	})
	if err != nil {
		t.Errorf("Edit: %v", err)
	}
}

func testFaults(t *testing.T, s Setup) {
	se := start(t, s)
	if se.Fail == nil {
		return
	}
	for _, fault := range []Fault{
		FaultTooLong, FaultBlocked, FaultToken, FaultRate, FaultServer, FaultRefused, FaultLost, FaultMalformed,
	} {
		if se.Fail(fault) {
			_, err := se.Adapter.Send(t.Context(), channels.Part{Chat: se.Chat, Text: "x", Key: "f-" + string(fault)})
			checkFault(t, "Send", fault, err, se.Secrets)
		}
	}
	e, ok := se.Adapter.(channels.Editor)
	if !ok {
		return
	}
	sent, err := se.Adapter.Send(t.Context(), channels.Part{Chat: se.Chat, Text: "x", Key: "e0"})
	if err != nil {
		t.Fatalf("Send after the faults: %v", err)
	}
	for _, fault := range []Fault{FaultRate, FaultServer, FaultLost} {
		if se.Fail(fault) {
			err := e.Edit(t.Context(), sent.ID, channels.Part{Chat: se.Chat, Text: "y", Key: "e-" + string(fault)})
			checkFault(t, "Edit", fault, err, se.Secrets)
		}
	}
	if se.Fail(FaultNoChange) {
		if err := e.Edit(t.Context(), sent.ID, channels.Part{Chat: se.Chat, Text: "x", Key: "e1"}); err != nil {
			t.Errorf("an edit that changes nothing: %v, want success", err)
		}
	}
}

// checkFault proves the class, and that no credential shows.
func checkFault(t *testing.T, what string, fault Fault, err error, secrets []string) {
	t.Helper()
	for _, problem := range faultProblems(fault, err, secrets) {
		t.Errorf("%s, fault %s: %s", what, fault, problem)
	}
}

func faultProblems(fault Fault, err error, secrets []string) []string {
	if err == nil {
		return []string{"succeeded"}
	}
	se, ok := errors.AsType[*channels.SendError](err)
	if !ok {
		return []string{fmt.Sprintf("%T is no *SendError", err)}
	}
	var out []string
	want := map[Fault][]channels.SendClass{
		FaultTooLong: {channels.PermanentMessage}, FaultBlocked: {channels.PermanentChat},
		FaultToken: {channels.PermanentToken}, FaultRate: {channels.RateLimited},
		FaultServer: {channels.Temporary, channels.Unknown}, FaultRefused: {channels.Temporary},
		FaultLost: {channels.Unknown}, FaultMalformed: {channels.Unknown},
	}[fault]
	if !slices.Contains(want, se.Class) {
		out = append(out, fmt.Sprintf("class %s, want one of %v", se.Class, want))
	}
	if fault == FaultRate && se.After != FaultAfter {
		out = append(out, fmt.Sprintf("wait of %s, want %s", se.After, FaultAfter))
	}
	if se.Err == nil {
		out = append(out, "no cause")
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, text := range []string{fmt.Sprintf("%v", e), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
			for _, secret := range secrets {
				if secret != "" && strings.Contains(text, secret) {
					return append(out, "the error holds a credential")
				}
			}
		}
	}
	return out
}
