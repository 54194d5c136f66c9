package main

import (
	"errors"
	"fmt"
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
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a configuration to start from",
		Long: "Writes a commented parley.yaml, two tools in TypeScript, a scripted model that uses them, and for your\n" +
			"editor the types and the schema of the configuration into DIR (default: here). It overwrites nothing: where one of the files is there, none is written.",
		Example: "  parley init mybot",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = filepath.Clean(args[0])
			}
			files, err := starterFiles()
			if err != nil {
				return err
			}
			if err := writeNew(dir, files); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, f := range files {
				fmt.Fprintln(out, "wrote", filepath.Join(dir, f.name))
			}
			fmt.Fprintln(out, "\nNext:")
			if dir != "." {
				fmt.Fprintf(out, "  cd %s\n", shellWord(dir))
			}
			fmt.Fprint(out, "  parley check    # tells every mistake, after each change\n"+
				"  parley serve    # then open http://127.0.0.1:8080/chat/\n"+
				"A real language model is a few lines in parley.yaml, under model.\n")
			return nil
		},
	}
}

// newFile is a file to be written.
type newFile struct {
	name    string
	content []byte
}

func starterFiles() ([]newFile, error) {
	var files []newFile
	for _, name := range []string{"parley.yaml", "tools.ts", "model.yaml"} {
		content, err := starter.Files.ReadFile(name)
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

// writeNew writes all files into dir, which it makes, or none of them.
func writeNew(dir string, files []newFile) (err error) {
	var there []string
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	if len(there) > 0 {
		return usageError{fmt.Errorf("nothing was written, for these are there already: %s", strings.Join(there, ", "))}
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
