package tool

import (
	"errors"
	"testing"
)

func TestAt(t *testing.T) {
	t.Parallel()
	if err := At("body", nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	one, two := errors.New("one"), errors.New("two")
	err := At("status.404", errors.Join(one, errors.Join(nil, two)))
	if err == nil || err.Error() != "one\ntwo" || !errors.Is(err, one) || !errors.Is(err, two) {
		t.Fatalf("error %v", err)
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok || len(many.Unwrap()) != 2 {
		t.Fatalf("%T", err)
	}
	k, ok := errors.AsType[*KeyError](many.Unwrap()[0])
	if !ok || k.Key() != "status.404" || k.Error() != "one" {
		t.Errorf("%v", k)
	}
}

func TestNewRegistry_TitleOfMoreLines(t *testing.T) {
	t.Parallel()
	for _, title := range []string{"a\nb", "a\x1b[31m", "\u0085"} {
		_, err := NewRegistry([]Tool{{Name: "a", Title: title, Runner: nop{}}})
		if err == nil || err.Error() != `tool "a": the title must be one line: it holds a line break or another control character` {
			t.Errorf("%q: %v", title, err)
		}
	}
}
