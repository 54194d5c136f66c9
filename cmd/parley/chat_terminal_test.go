//go:build linux

package main

import (
	"bytes"
	"testing"
)

// Whoever sits at a terminal is told how to leave, once, and can.
func TestChat_SaysHowToLeave(t *testing.T) {
	t.Parallel()
	config := ordered(t)
	ann, program := openTerminal(t)
	code := make(chan int, 1)
	var errOut bytes.Buffer
	go func() { code <- run(t.Context(), []string{"chat", "-c", config}, program, program, &errOut) }()
	ann.until(t, "Ctrl-D ends\r\n")
	ann.until(t, "you> ")
	if _, err := ann.WriteString("\x04"); err != nil {
		t.Fatal(err)
	}
	if c := <-code; c != exitOK {
		t.Errorf("exit %d: %s", c, errOut.String())
	}
}
