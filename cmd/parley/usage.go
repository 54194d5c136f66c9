package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is a mistake of the caller's: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// checkArgs makes wrong arguments a mistake of the caller's, and says which is
// missing or too many by the names that Use has. A command that says nothing of
// its arguments takes none; one with commands below it names them.
func checkArgs(cmd *cobra.Command) {
	args := cmd.Args
	if args == nil {
		args = cobra.NoArgs
	}
	names := strings.Fields(cmd.Use)[1:]
	cmd.Args = func(cmd *cobra.Command, a []string) error {
		err := args(cmd, a)
		if err == nil {
			return nil
		}
		if len(names) > 0 {
			err = misfit(names, a, err)
		}
		hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
		if below := commandsOf(cmd); cmd.HasParent() && len(below) > 0 {
			hint = "there are " + strings.Join(below, ", ")
		}
		return usageError{fmt.Errorf("%w (%s)", err, hint)}
	}
}

// misfit says how arguments don't fit their names, of which those in brackets
// may be left out.
func misfit(names, args []string, err error) error {
	switch {
	case len(args) > len(names):
		return fmt.Errorf("%q is one argument too many: there is only %s", args[len(names)], strings.Join(names, " "))
	case len(args) < len(names) && !strings.HasPrefix(names[len(args)], "["):
		return fmt.Errorf("%s is missing", names[len(args)])
	default:
		return err
	}
}

// commandsOf names the commands below cmd.
func commandsOf(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// checkBuiltIn gives cobra's own commands the same exit codes as ours: it
// answers a shell or a topic that it doesn't know with its help and 0.
func checkBuiltIn(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			checkArgs(c)
			for _, shell := range c.Commands() {
				checkArgs(shell)
			}
		case "help":
			c.Args = func(_ *cobra.Command, topic []string) error {
				if found, rest, err := root.Find(topic); err != nil || len(rest) > 0 {
					return usageError{fmt.Errorf("unknown help topic %q (see %s --help)", strings.Join(topic, " "), found.CommandPath())}
				}
				return nil
			}
		}
	}
}

// flagError says what is wrong with a flag in plain words, and what is
// expected.
func flagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return usageError{fmt.Errorf("%w (%s)", err, hint)}
	}
	f := bad.GetFlag()
	want, known := map[string]string{
		"bool": "true or false", "int": "a whole number such as " + f.DefValue, "duration": "a duration such as 500ms, 3s or 2m",
	}[f.Value.Type()]
	if !known {
		return usageError{fmt.Errorf("%w (%s)", err, hint)}
	}
	if errors.Is(err, strconv.ErrRange) {
		want = "a smaller number"
	}
	return usageError{fmt.Errorf("--%s: expected %s, not %q (%s)", f.Name, want, bad.GetValue(), hint)}
}

// atLeast is the number of a flag, which is no less than least.
func atLeast(flags *pflag.FlagSet, name string, least int) (int, error) {
	n, err := flags.GetInt(name)
	if err == nil && n < least {
		err = usageError{fmt.Errorf("--%s: expected %d or more, not %d", name, least, n)}
	}
	return n, err
}
