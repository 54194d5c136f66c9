package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File writes events as JSON lines. A file that is moved away or removed
// (logrotate's default way) is made anew at the next batch.
type File struct {
	path string
	f    *os.File
}

var _ Sink = (*File)(nil)

// NewFile makes a sink for the file at path; its directories are made when
// they are needed, the file with mode 0600.
func NewFile(path string) *File { return &File{path: path} }

// Name is "file": there is one of it.
func (s *File) Name() string { return "file" }

// Write appends the rows and syncs.
func (s *File) Write(_ context.Context, rows []Row) error {
	if err := s.open(); err != nil {
		return fmt.Errorf("open the audit file: %w", err)
	}
	size, whole, err := s.end()
	if err != nil {
		return fmt.Errorf("look at the audit file: %w", err)
	}
	var out bytes.Buffer
	if !whole {
		// A crash or a full disk left half a line.
		out.WriteByte('\n')
	}
	for _, r := range rows {
		if _, err := out.Write(line(r.Event)); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	_, err = s.f.Write(out.Bytes())
	if err == nil {
		err = s.f.Sync()
	}
	if err != nil {
		// Take half a batch back; if that fails too, end() sees it next time.
		return fmt.Errorf("write the audit file: %w", errors.Join(err, s.f.Truncate(size)))
	}
	return nil
}

// line is the event without line breaks. A row that is no JSON is kept as
// text: it must neither be lost nor hold up those behind it.
func line(event json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, event); err == nil {
		return b.Bytes()
	}
	out, err := json.Marshal(struct {
		Type string `json:"type"`
		Raw  string `json:"raw"`
	}{"audit.unreadable", string(event)})
	if err != nil {
		return []byte(`{"type":"audit.unreadable"}`)
	}
	return out
}

// open opens the file, again where path has become another one.
func (s *File) open() error {
	if s.f != nil {
		have, err := s.f.Stat()
		now, err2 := os.Stat(s.path)
		if err == nil && err2 == nil && os.SameFile(have, now) {
			return nil
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, statErr := os.Stat(s.path)
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return errors.Join(errors.New("it is not a regular file"), err, f.Close())
	}
	s.f = f
	if errors.Is(statErr, fs.ErrNotExist) {
		return syncDir(dir)
	}
	return nil
}

// syncDir makes a new file's name as durable as its lines.
func syncDir(dir string) error {
	d, err := os.Open(dir) // #nosec G304 -- the operator's own setting
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// end tells the file's size and whether its last line is whole.
func (s *File) end() (size int64, whole bool, err error) {
	st, err := s.f.Stat()
	if err != nil || st.Size() == 0 {
		return 0, true, err
	}
	last := make([]byte, 1)
	if _, err := s.f.ReadAt(last, st.Size()-1); err != nil {
		return 0, false, err
	}
	return st.Size(), last[0] == '\n', nil
}

// Close closes the file; Write opens it again.
func (s *File) Close() error {
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	return f.Close()
}
