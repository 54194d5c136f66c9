package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/configs/starter"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/tool/js"
)

func newInit(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a configuration to start from",
		Long: "Writes a commented parley.yaml, two tools in TypeScript, and for your editor the types and the schema of the\n" +
			"configuration into DIR (default: here). On a terminal it asks which channels and which model the bot is to\n" +
			"have; --channels and --model answer that, and without a terminal it is the web chat with a scripted model.\n" +
			"Secrets are variables, which it names. It overwrites nothing: where one of the files is there, none is written.\n\n" +
			"Channels: " + list(channelChoices()) + ".\nModels: " + list(modelChoices()) + ".",
		Example: "  parley init mybot\n  parley init mybot --channels telegram,web --model openai",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = filepath.Clean(args[0])
			}
			b, err := chosenBot(cmd, dir)
			if err != nil {
				return err
			}
			files, err := starterFiles(b)
			if err != nil {
				return err
			}
			if err := writeNew(dir, files); err != nil {
				return err
			}
			for _, f := range files {
				fmt.Fprintln(cmd.OutOrStdout(), "wrote", filepath.Join(dir, f.name))
			}
			printNext(cmd.OutOrStdout(), dir, b)
			return nil
		},
	}
	cmd.Flags().String("channels", "", "where people write, instead of asking: `NAMES` with commas, or none")
	cmd.Flags().String("model", "", "what answers, instead of asking: a `NAME`")
	return cmd
}

// offered are the channels of this build.
func offered() []starter.Channel {
	return slices.DeleteFunc(starter.Channels(), func(c starter.Channel) bool { return app.Slim && c.Kind == "whatsapp_web" })
}

func channelChoices() (out []choice) {
	for _, c := range offered() {
		out = append(out, choice{c.Name, c.Kind, c.Title})
	}
	return append(out, choice{name: "none", title: "no other than the terminal"})
}

func modelChoices() (out []choice) {
	for _, m := range starter.Models() {
		out = append(out, choice{name: m.Name, title: m.Title})
	}
	return out
}

func list(from []choice) string {
	var names []string
	for _, c := range from {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// chosenBot is what the flags say, or a person at the terminal. What neither
// does is the first of each.
func chosenBot(cmd *cobra.Command, dir string) (b starter.Bot, err error) {
	flags := cmd.Flags()
	places, _ := flags.GetString("channels") // declared above
	model, _ := flags.GetString("model")
	var at, by []int
	if flags.Changed("channels") || flags.Changed("model") || !isTerminal(cmd) {
		if at, err = parseChoice(places, channelChoices(), true); err != nil {
			return b, usageError{fmt.Errorf("--channels: %w", err)}
		}
		if by, err = parseChoice(model, modelChoices(), false); err != nil {
			return b, usageError{fmt.Errorf("--model: %w", err)}
		}
	} else {
		if err := notThere(dir, "parley.yaml"); err != nil {
			return b, err // before questions are answered in vain
		}
		a := newAsker(cmd.InOrStdin(), cmd.OutOrStdout())
		if at, err = a.choose(cmd.Context(), "Where do people write to the bot?", channelChoices(), true); err != nil {
			return b, err
		}
		if by, err = a.choose(cmd.Context(), "What answers?", modelChoices(), false); err != nil {
			return b, err
		}
	}
	b.Model = starter.Models()[by[0]]
	all := offered()
	for _, i := range at {
		if i < len(all) {
			b.Channels = append(b.Channels, all[i])
		} else if len(at) > 1 {
			return b, usageError{errors.New("none goes with no other channel")}
		}
	}
	return b, nil
}

// printNext tells what to do now, as commands.
func printNext(out io.Writer, dir string, b starter.Bot) {
	fmt.Fprintln(out, "\nNext:")
	if dir != "." {
		fmt.Fprintf(out, "  cd %s\n", shellWord(dir))
	}
	for _, v := range b.Variables() {
		fmt.Fprintf(out, "  export %s=…    # %s\n", v.Name, v.Hint)
	}
	fmt.Fprint(out, "  parley check    # tells every mistake, after each change\n")
	var hooks []string
	then := "parley chat     # talk to it here; other channels go into parley.yaml, under channels"
	for _, c := range b.Channels {
		if c.Linked {
			fmt.Fprintf(out, "  parley pair %s    # links it to a phone\n", c.Name)
		}
		if c.Public {
			hooks = append(hooks, c.Name)
		}
		if c.Kind == "webchat" {
			then = "parley serve    # then open http://127.0.0.1:8080/chat/"
		} else if !strings.HasPrefix(then, "parley serve") {
			then = "parley serve    # then write to the bot"
		}
	}
	fmt.Fprintln(out, " ", then)
	if len(hooks) > 0 {
		fmt.Fprintf(out, "  parley webhooks register %s    # while it runs, once\n", strings.Join(hooks, " "))
	}
	if b.Model.Name == "script" {
		fmt.Fprintln(out, "A real language model is a few lines in parley.yaml, under model.")
	}
}

// newFile is a file to be written.
type newFile struct {
	name    string
	content []byte
}

func starterFiles(b starter.Bot) ([]newFile, error) {
	var files []newFile
	for _, name := range b.Names() {
		content, err := starter.Files.ReadFile(name)
		if name == "parley.yaml" {
			content, err = b.Config()
		}
		if err != nil {
			return nil, fmt.Errorf("reading the built-in %s: %w", name, err)
		}
		files = append(files, newFile{name, content})
	}
	schema, err := app.Schema()
	if err != nil {
		return nil, err
	}
	return append(files, newFile{"parley.d.ts", []byte(js.TypesFile)}, newFile{"parley.schema.json", schema}), nil
}

// notThere refuses where one of the files exists already.
func notThere(dir string, names ...string) error {
	var there []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	if len(there) > 0 {
		return usageError{fmt.Errorf("nothing was written, for these are there already: %s", strings.Join(there, ", "))}
	}
	return nil
}

// writeNew writes all files into dir, which it makes, or none of them.
func writeNew(dir string, files []newFile) (err error) {
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	if err := notThere(dir, names...); err != nil {
		return err
	}
	var made []string
	defer func() {
		if err == nil {
			return
		}
		for _, path := range slices.Backward(made) {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	for _, folder := range missing(dir) {
		//nolint:gosec // the daemon's user, often another one, has to read it
		if err := os.Mkdir(folder, 0o755); err != nil {
			return usageError{fmt.Errorf("making the folder: %w", err)}
		}
		made = append(made, folder)
	}
	if info, err := os.Stat(dir); err != nil {
		return usageError{fmt.Errorf("looking into the folder: %w", err)}
	} else if !info.IsDir() {
		return usageError{fmt.Errorf("%s is no folder", dir)}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		// A file that came to be since the look above is kept, too.
		w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as above; secrets belong in variables
		if err != nil {
			return fmt.Errorf("writing the starter: %w", err)
		}
		made = append(made, path)
		_, err = w.Write(f.content)
		if err := errors.Join(err, w.Close()); err != nil {
			return fmt.Errorf("writing the starter: %w", err)
		}
	}
	return nil
}

// missing lists dir and the folders above it that aren't there, outermost
// first.
func missing(dir string) []string {
	above := filepath.Dir(dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || above == dir {
		return nil // Mkdir or the first file tells what else is wrong
	}
	return append(missing(above), dir)
}

// shellWord quotes a path that a shell would take apart.
func shellWord(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
