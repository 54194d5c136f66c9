package js

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"modernc.org/quickjs"
)

// program is a compiled module and what it said of itself: all that running
// it needs.
type program struct {
	// Stamp is what compiled it; bytecode of another version isn't read.
	Stamp  string  `json:"stamp"`
	Inputs []input `json:"inputs"`
	// Hash is that of the bundle, part of every tool's digest.
	Hash     string          `json:"hash"`
	Defs     json.RawMessage `json:"defs"`
	Map      lineMap         `json:"map"`
	Written  []written       `json:"written"` // module-level state that handlers write
	CodeHash string          `json:"code_hash"`
	code     []byte          // QuickJS bytecode
}

// input is a file that the bundle depends on; Hash "" is one that wasn't there.
type input struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func hashFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return hashOf(b)
}

// stamp tells everything but the sources that a compiled module depends on.
func stamp() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "1 %s %s", runtime.GOARCH, quickjs.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/evanw/esbuild" || strings.HasPrefix(d.Path, "modernc.org/") {
				fmt.Fprintf(h, " %s@%s", d.Path, d.Version)
			}
		}
	}
	err := fs.WalkDir(runtimeFiles, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := runtimeFiles.ReadFile(p)
		fmt.Fprintf(h, " %s %s", p, hashOf(b))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// dependencies adds to the bundled files those that decide what an import
// means: package.json of each package, and tsconfig.json on the way up.
func dependencies(src Source, files []string) ([]input, error) {
	if !src.onDisk() {
		return embeddedInputs(src)
	}
	seen := map[string]struct{}{}
	var out []input
	add := func(path string) {
		if _, ok := seen[path]; !ok {
			seen[path] = struct{}{}
			out = append(out, input{path, hashFile(path)})
		}
	}
	for _, f := range files {
		add(f)
		inPackage := strings.Contains(filepath.ToSlash(f), "/node_modules/")
		for dir := filepath.Dir(f); ; dir = filepath.Dir(dir) {
			if _, done := seen[dir]; done {
				break
			}
			seen[dir] = struct{}{}
			add(filepath.Join(dir, "package.json"))
			if !inPackage {
				add(filepath.Join(dir, "tsconfig.json"))
			}
			if filepath.Base(dir) == "node_modules" || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return out, nil
}

func embeddedInputs(src Source) ([]input, error) {
	if src.text != "" {
		return []input{{src.path, hashOf([]byte(src.text))}}, nil
	}
	var out []input
	err := fs.WalkDir(src.fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := src.read(p)
		out = append(out, input{p, hashOf(b)})
		return err
	})
	return out, err
}

func (p *program) fresh(src Source) bool {
	if !src.onDisk() {
		now, err := embeddedInputs(src)
		return err == nil && slices.Equal(now, p.Inputs)
	}
	for _, in := range p.Inputs {
		if hashFile(in.Path) != in.Hash {
			return false
		}
	}
	return len(p.Inputs) > 0
}

// cacheFile is one file a script, so that a changed script takes its old
// version's place.
func cacheFile(folder string, src Source) (string, error) {
	name := "embedded:" + src.path
	if src.onDisk() {
		abs, err := filepath.Abs(src.path)
		if err != nil {
			return "", err
		}
		name = abs
	}
	return filepath.Join(folder, hashOf([]byte(name))[:32]+".parleyjs"), nil
}

var errStale = errors.New("the compiled module is of other sources")

// readProgram reads a compiled module: a line of JSON, then the bytecode.
func readProgram(file, stamp string, src Source) (*program, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	head, code, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return nil, errStale
	}
	p := &program{}
	if err := json.Unmarshal(head, p); err != nil {
		return nil, fmt.Errorf("read the compiled module: %w", err)
	}
	if p.Stamp != stamp || p.CodeHash != hashOf(code) || !p.fresh(src) {
		return nil, errStale
	}
	p.code = code
	return p, nil
}

// writeProgram replaces the file in one step: a reader sees the old or the new.
func writeProgram(file string, p *program) error {
	head, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the compiled module: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the folder of compiled modules: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return fmt.Errorf("write the compiled module: %w", err)
	}
	_, err = tmp.Write(bytes.Join([][]byte{head, p.code}, []byte("\n")))
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the compiled module: %w", err), os.Remove(tmp.Name()))
	}
	return nil
}
