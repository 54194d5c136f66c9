package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// errNoAnswer is the end of the input, or Ctrl-C, at a question.
var errNoAnswer = errors.New("interrupted: nothing was written")

// choice is one of what a person can choose from.
type choice struct {
	// name chooses it, and so does its number; also is a name besides.
	name, also, title string
}

// asker puts questions to a person at a terminal.
type asker struct {
	lines <-chan string
	out   io.Writer
}

// newAsker reads lines from in until it ends. A read of a terminal can't be
// interrupted: its goroutine ends with the process.
func newAsker(in io.Reader, out io.Writer) *asker {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return &asker{lines, out}
}

// choose asks until the answer is one that can be taken, and returns indexes
// of from. An empty line is the first; several may be chosen if many is set.
func (a *asker) choose(ctx context.Context, question string, from []choice, many bool) ([]int, error) {
	fmt.Fprintln(a.out, question)
	for i, c := range from {
		fmt.Fprintf(a.out, "  %d  %-10s %s\n", i+1, c.name, c.title)
	}
	how := "one of them"
	if many {
		how = "one or several, with commas"
	}
	for {
		fmt.Fprintf(a.out, "Name or number, %s [%s]: ", how, from[0].name)
		select {
		case <-ctx.Done():
			fmt.Fprintln(a.out)
			return nil, errNoAnswer
		case line, ok := <-a.lines:
			if !ok {
				fmt.Fprintln(a.out)
				return nil, errNoAnswer
			}
			chosen, err := parseChoice(line, from, many)
			if err == nil {
				return chosen, nil
			}
			fmt.Fprintln(a.out, err)
		}
	}
}

// parseChoice reads names and numbers; nothing is the first.
func parseChoice(line string, from []choice, many bool) ([]int, error) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if len(words) == 0 {
		return []int{0}, nil
	}
	if len(words) > 1 && !many {
		return nil, fmt.Errorf("%q is more than one", strings.TrimSpace(line))
	}
	var chosen []int
	for _, w := range words {
		at := slices.IndexFunc(from, func(c choice) bool {
			return strings.EqualFold(w, c.name) || c.also != "" && strings.EqualFold(w, c.also)
		})
		if n, err := strconv.Atoi(w); err == nil && n >= 1 && n <= len(from) {
			at = n - 1
		}
		if at < 0 {
			var names []string
			for _, c := range from {
				names = append(names, c.name)
			}
			return nil, fmt.Errorf("%q isn't known: it is one of %s", w, strings.Join(names, ", "))
		}
		if !slices.Contains(chosen, at) {
			chosen = append(chosen, at)
		}
	}
	return chosen, nil
}
