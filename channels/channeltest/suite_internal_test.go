package channeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
)

// liar claims what it doesn't implement, and the other way round.
type liar struct {
	channels.Adapter
	caps channels.Capabilities
}

func (l liar) Capabilities(channels.Chat) channels.Capabilities { return l.caps }

type lyingTyper struct{ liar }

func (lyingTyper) Typing(context.Context, channels.Chat, time.Time) {}

type lyingAcker struct{ liar }

func (lyingAcker) Ack(context.Context, channels.Inbound, channels.PressAck) error { return nil }

func TestDisagreements(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		adapter channels.Adapter
		want    string
	}{
		"honest":            {New(TextOnly()).Adapter(), ""},
		"edits by claim":    {liar{caps: channels.Capabilities{Edit: channels.EditLimits{Text: true}}}, "Editor"},
		"age without edits": {liar{caps: channels.Capabilities{Edit: channels.EditLimits{MaxAge: 1}}}, "limits without"},
		"types by claim":    {liar{caps: channels.Capabilities{Typing: 1}}, "Typer"},
		"types in secret":   {lyingTyper{}, "Typer"},
		"acks no buttons":   {lyingAcker{}, "Acker"},
		"one button":        {liar{caps: channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 1}}}, "fewer buttons"},
		"short ids":         {liar{caps: channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 2, IDBytes: 20}}}, "64 bytes"},
		"shared pointer":    {liar{caps: channels.Capabilities{Buttons: &channels.ButtonLimits{Max: 2}}}, "write through"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(disagreements(tc.adapter, channels.Chat{ID: "c"}), "; ")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

// holding is a Holder, and one that knows how it stands.
type holding struct {
	liar
	holds bool
}

func (h holding) Holds() bool { return h.holds }

type linking struct{ holding }

func (linking) Link() channels.Link { return channels.Link{State: channels.LinkConnecting} }

type lyingLinker struct{ liar }

func (lyingLinker) Link() channels.Link { return channels.Link{} }

func TestProgressProblems(t *testing.T) {
	t.Parallel()
	good := promises{signs: 2, shortest: time.Second, longest: time.Minute}
	for name, tc := range map[string]struct {
		adapter channels.Adapter
		told    promises
		want    string
	}{
		"plain":             {liar{}, promises{}, ""},
		"holds":             {linking{holding{holds: true}}, good, ""},
		"holds nothing":     {linking{holding{}}, promises{}, ""},
		"tells for nothing": {linking{holding{}}, good, "nobody watches"},
		"plain, tells":      {liar{}, good, "nobody watches"},
		"silent":            {linking{holding{holds: true}}, promises{}, "no sign"},
		"at once":           {linking{holding{holds: true}}, promises{signs: 1}, "more than 0"},
		"never":             {linking{holding{holds: true}}, promises{signs: 1, shortest: 1, longest: time.Hour}, "at most"},
		"no holder":         {lyingLinker{}, promises{}, "no Holder"},
		"no linker":         {holding{holds: true}, good, "no Linker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(progressProblems(tc.adapter, tc.told), "; ")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFaultProblems(t *testing.T) {
	t.Parallel()
	leak := fmt.Errorf("calling https://api/bot-canary/send: %w", errors.New("reset"))
	for name, tc := range map[string]struct {
		fault Fault
		err   error
		want  string
	}{
		"right":        {FaultLost, &channels.SendError{Class: channels.Unknown, Err: errors.New("reset")}, ""},
		"no error":     {FaultLost, nil, "succeeded"},
		"plain error":  {FaultLost, errors.New("reset"), "no *SendError"},
		"wrong class":  {FaultLost, &channels.SendError{Class: channels.Temporary, Err: errors.New("reset")}, "class temporary"},
		"no wait":      {FaultRate, &channels.SendError{Class: channels.RateLimited, Err: errors.New("429")}, "wait of 0s"},
		"no cause":     {FaultServer, &channels.SendError{Class: channels.Temporary}, "no cause"},
		"leaks secret": {FaultServer, &channels.SendError{Class: channels.Temporary, Err: leak}, "credential"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(faultProblems(tc.fault, tc.err, []string{"canary"}), "; ")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}
