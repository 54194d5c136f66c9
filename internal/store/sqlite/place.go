package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/problem"
)

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 40

// Resolve is the path of the file that path leads to by symbolic links, also
// where that doesn't exist yet: whoever opens it has one lock, whatever they
// call it. What can't be followed is left as it is.
func Resolve(path string) string {
	at := path
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return path
		}
		at = filepath.Join(dir, filepath.Base(at))
		target, err := os.Readlink(at)
		if err != nil {
			return at // no link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		at = target
	}
	return path
}

// place is which file the database is, and whether it is still where it was.
type place struct {
	path string
	// lock is on the file itself: it has other names where there are hard
	// links to it. To close it before SQLite has closed the file would take
	// away SQLite's own locks: POSIX drops all that the process has.
	lock *flock.Flock
	// file is what was opened; nil before.
	file fs.FileInfo
	told func(error)
	gone bool
}

// take locks the file. Only on Linux do these locks and SQLite's know nothing
// of each other, and not on network file systems. A file that can't be opened
// is left to SQLite, which says why.
func (p *place) take() error {
	if p.lock == nil || runtime.GOOS != "linux" {
		return nil
	}
	if ok, err := p.lock.TryLock(); err == nil && !ok {
		return problem.StoreInUse.Errorf("database %s is in use by another parley process, which knows it by another name (a hard link): stop that one first", p.path)
	}
	return nil
}

// settle notes which file was opened.
func (p *place) settle() (err error) {
	p.file, err = os.Stat(p.path)
	return err
}

// check tells whether the file is still there. One that was moved or removed
// can be written on, but what is written to it is lost with the process.
func (p *place) check() error {
	now, err := os.Stat(p.path)
	switch {
	case err == nil && os.SameFile(p.file, now):
		p.gone = false
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil // that says nothing of the file
	}
	what := "was moved or removed"
	if err == nil {
		what = "has another file in its place"
	}
	err = fmt.Errorf("%w: the database file %s %s while it was open: put it back, or stop parley", inbox.ErrUnavailable, p.path, what)
	if !p.gone && p.told != nil {
		p.told(err)
	}
	p.gone = true
	return err
}

func (p *place) leave() error {
	if p.lock == nil {
		return nil
	}
	return p.lock.Unlock()
}
