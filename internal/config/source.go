package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/problem"
)

// source is where files are read from: the disk, or an embedded tree.
type source struct {
	fsys fs.FS // nil is the disk
	main string
	// opened is told of what is looked at, where not nil.
	opened func(name string)
}

func (s source) tell(name string) {
	if s.opened != nil {
		s.opened(name)
	}
}

// resolve makes name relative to the file it is written in.
func (s source) resolve(name string, at Pos) string {
	from := at.File
	if from == "" {
		from = s.main
	}
	if s.fsys != nil {
		return path.Join(path.Dir(from), name)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(from), name)
}

func (s source) open(name string) (fs.File, error) {
	s.tell(name)
	if s.fsys != nil {
		return s.fsys.Open(name)
	}
	// Without O_NONBLOCK a named pipe that nobody writes to would hold the
	// program for ever; so it reads as empty.
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 -- the operator names the file
}

// read reads a file of limit bytes at the most.
func (s source) read(name string, limit int64) ([]byte, error) {
	f, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, errors.New("it is a directory")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %s", Size(limit))
	}
	return data, nil
}

// isFile tells why name can't be read as a file; nil if it can.
func (s source) isFile(name string) error {
	f, err := s.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		return errors.New("it is a directory")
	}
	return nil
}

func (s source) glob(pattern string) ([]string, error) {
	s.tell(pattern)
	if s.fsys != nil {
		return fs.Glob(s.fsys, pattern)
	}
	return filepath.Glob(pattern)
}

// reason says why a file could not be read, without repeating its path.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it does not exist"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

const maxIncludes = 64

// includer reads a file and what it includes into one tree.
type includer struct {
	src   source
	rep   *report
	env   func(string) (string, bool)
	build builder
	open  []string // files being read, outermost first
	count int
}

// load reads name. The first file's own error is returned, those of included
// ones are reported where they are included.
func (l *includer) load(name string) (*node, error) {
	data, err := l.src.read(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	l.open = append(l.open, name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	l.build.rep, l.build.file = l.rep, name
	root := l.build.parse(data)
	if root.isNull() {
		return nil, nil
	}
	if root.kind != yaml.MappingNode {
		l.rep.addf(problem.Document, root.at, "a configuration is a mapping of sections, such as \"server:\"")
		return nil, nil
	}
	inc := root.get("include")
	if inc == nil {
		return root, nil
	}
	var base *node
	for _, one := range l.list(inc) {
		base = overlay(base, l.include(one))
	}
	root.fields = slices.DeleteFunc(root.fields, func(f field) bool { return f.key == "include" })
	return overlay(base, root), nil
}

func (l *includer) list(inc *field) []*node {
	if inc.val.kind == yaml.SequenceNode {
		return inc.val.items
	}
	return []*node{inc.val}
}

func (l *includer) include(n *node) *node {
	if n.kind != yaml.ScalarNode || n.isNull() {
		l.rep.addf(problem.Include, n.at, "include takes a file name or a list of file names")
		return nil
	}
	name, bad := expand(n.value, l.env)
	if bad != "" {
		l.rep.addf(problem.Variable, n.at, "include: %s", bad)
		return nil
	}
	full := l.src.resolve(name, n.at)
	names := []string{full}
	if strings.ContainsAny(name, "*?[") {
		var err error
		if names, err = l.src.glob(full); err != nil {
			l.rep.addf(problem.Include, n.at, "include: %q is no file pattern", clip(n.value))
			return nil
		}
	}
	var out *node
	for _, one := range names {
		if slices.Contains(l.open, one) {
			l.rep.addf(problem.Include, n.at, "include: %s includes itself", one)
			continue
		}
		if l.count++; l.count > maxIncludes {
			l.rep.addf(problem.TooLarge, n.at, "include: more than %d files", maxIncludes)
			return out
		}
		root, err := l.load(one)
		if err != nil {
			l.rep.addf(problem.FileMissing, n.at, "include: can't read %s: %s", one, reason(err))
		}
		out = overlay(out, root)
	}
	return out
}

// overlay puts over onto base: mappings key by key, anything else whole.
func overlay(base, over *node) *node {
	if base == nil || over == nil || base.kind != yaml.MappingNode || over.kind != yaml.MappingNode {
		if over == nil {
			return base
		}
		return over
	}
	out := *base
	out.fields = slices.Clone(base.fields)
	for _, f := range over.fields {
		if have := out.get(f.key); have != nil {
			f.val = overlay(have.val, f.val)
			*have = f
		} else {
			out.fields = append(out.fields, f)
		}
	}
	return &out
}
