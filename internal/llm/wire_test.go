package llm_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
)

func TestResultsFor_OneForEachCall(t *testing.T) {
	t.Parallel()
	calls := []llm.Call{{ID: "a", Name: "t"}, {ID: "same", Name: "u"}, {ID: "same", Name: "u"}, {ID: "lost", Name: "v"}}
	got := llm.ResultsFor(calls, []llm.Result{
		{CallID: "same", Content: "1"}, {CallID: "stray", Content: "x"}, {CallID: "same", Content: "2"}, {CallID: "a", Content: "0"},
	})
	var contents []string
	for _, r := range got {
		contents = append(contents, r.Content)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", `{"error":"no_result"}`}, contents); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last := got[3]; last.CallID != "lost" || last.Name != "v" || !last.Failed {
		t.Errorf("what is missing is %+v", last)
	}
}

func TestArgs_SentAndRead(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "{}", " \n": "{}", "null": "{}", `{"a":1}`: `{"a":1}`, `{"a`: `{"invalid_json":"{\"a"}`, "[1]": `{"invalid_json":"[1]"}`, "7": `{"invalid_json":"7"}`,
	} {
		if got := string(llm.ArgsObject(in)); got != want {
			t.Errorf("%q is sent as %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"": "", "null": "", `{"n":12345678901234567890}`: `{"n":12345678901234567890}`, `"{\"a"`: `{"a`} {
		if got := llm.ArgsText([]byte(in)); got != want {
			t.Errorf("%s is read as %q, want %q", in, got, want)
		}
	}
}

func TestFillIDs_NoneMissingNoneTwice(t *testing.T) {
	t.Parallel()
	calls := []llm.Call{{ID: "made-up-1"}, {}, {ID: "x"}, {ID: "x"}}
	llm.FillIDs(calls)
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(ids))); len(sorted) != 4 || slices.Contains(ids, "") || ids[2] != "x" {
		t.Errorf("got %q", ids)
	}
}

func TestEventData(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	body := io.MultiReader(strings.NewReader(": ping\r\n\r\nevent: x\ndata: {\"a\":1}\r\n\ndata:b\nid: 3\n"), iotest.ErrReader(lost))
	var got []string
	var failure error
	for data, err := range llm.EventData(body) {
		if err != nil {
			failure = err
			continue
		}
		got = append(got, string(data))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, "b"}, got); diff != "" || !errors.Is(failure, lost) {
		t.Errorf("%v (-want +got):\n%s", failure, diff)
	}
}
