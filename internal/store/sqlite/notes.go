package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

const (
	// noteTurn is the size at which notes go on in the other file.
	noteTurn = 1 << 20
	noteMode = 0o600
)

// notes are lines beside the database that outlive the process, though not the
// machine: they are written and not synced, which takes microseconds. Two files
// take turns, so that the one that isn't written can be emptied as soon as
// nothing in it is needed any more.
type notes struct {
	mu   sync.Mutex
	cur  *noteFile
	rest *noteFile
	left [][]byte // by the process before
}

type noteFile struct {
	f    *os.File
	size int64
	open int // lines that are needed yet
}

// notePaths are the files of a database.
func notePaths(path string) [2]string { return [2]string{path + "-sent1", path + "-sent2"} }

// openNotes reads what the process before left, and keeps it in the files
// until forget.
func openNotes(path string) (*notes, error) {
	n := &notes{}
	for i, name := range notePaths(path) {
		left, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		for line := range bytes.Lines(left) {
			// One without an end was cut short.
			if line, ok := bytes.CutSuffix(line, []byte("\n")); ok && len(line) > 0 {
				n.left = append(n.left, line)
			}
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, noteMode)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening %s: %w", name, err), n.close(""))
		}
		file := &noteFile{f: f, size: int64(len(left))}
		if i == 0 {
			n.cur = file
		} else {
			n.rest = file
		}
	}
	return n, nil
}

// add writes a line. Its loss costs no more than what it spares, so that errors
// are nobody's business.
func (n *notes) add(line []byte) (drop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cur.size >= noteTurn && n.rest.open == 0 && n.rest.empty() {
		n.cur, n.rest = n.rest, n.cur
	}
	file := n.cur
	file.open++
	if file.size < 2*noteTurn {
		written, _ := file.f.Write(append(line, '\n'))
		file.size += int64(written)
	}
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		file.open--
	})
}

// empty empties the file, and tells whether it is empty.
func (f *noteFile) empty() bool {
	if f.size == 0 {
		return true
	}
	if err := f.f.Truncate(0); err != nil {
		return false
	}
	f.size = 0
	return true
}

// forget ends the keeping of what the process before left. It must come before
// the first add.
func (n *notes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left = nil
	n.cur.empty()
	n.rest.empty()
}

// close closes the files, and removes those of a path.
func (n *notes) close(path string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for _, file := range []*noteFile{n.cur, n.rest} {
		if file != nil {
			errs = append(errs, file.f.Close())
		}
	}
	if path != "" {
		for _, name := range notePaths(path) {
			errs = append(errs, os.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// Note implements store.Noter.
func (db *DB) Note(line []byte) (drop func()) { return db.notes.add(line) }

// Noted implements store.Noter.
func (db *DB) Noted() [][]byte { return db.notes.left }

// ForgetNoted implements store.Noter.
func (db *DB) ForgetNoted() { db.notes.forget() }
