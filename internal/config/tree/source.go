package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
)

// Source is where files are read from: the disk, or an embedded tree.
type Source struct {
	FS   fs.FS  // nil is the disk
	Main string // the file that names are relative to where no other is known
	// Opened is told of what is looked at, where not nil.
	Opened func(name string)
}

func (s Source) tell(name string) {
	if s.Opened != nil {
		s.Opened(name)
	}
}

// Resolve makes name relative to the file it is written in.
func (s Source) Resolve(name string, at Pos) string {
	from := at.File
	if from == "" {
		from = s.Main
	}
	if s.FS != nil {
		return path.Join(path.Dir(from), name)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(from), name)
}

func (s Source) open(name string) (fs.File, error) {
	s.tell(name)
	if s.FS != nil {
		return s.FS.Open(name)
	}
	// Without O_NONBLOCK a named pipe that nobody writes to would hold the
	// program for ever; so it reads as empty.
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 -- the operator names the file
}

// Read reads a file of limit bytes at the most.
func (s Source) Read(name string, limit int64) ([]byte, error) {
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
		return nil, fmt.Errorf("it is larger than %s", strings.ReplaceAll(humanize.IBytes(uint64(max(0, limit))), " ", ""))
	}
	return data, nil
}

// IsFile tells why name can't be read as a file; nil if it can.
func (s Source) IsFile(name string) error {
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

func (s Source) glob(pattern string) ([]string, error) {
	s.tell(pattern)
	if s.FS != nil {
		return fs.Glob(s.FS, pattern)
	}
	return filepath.Glob(pattern)
}

// Reason says why a file could not be read, without repeating its path.
func Reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it does not exist"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
