// Package watch tells when files have changed, however a program writes them:
// in place, by a new file that takes the name, or behind a symbolic link, as
// Kubernetes swaps the folder of a ConfigMap.
//
// It watches the folders, not the files, and compares contents, so that only a
// real change counts. It doesn't read what the files mean, and doesn't poll:
// where the system's notices don't come (some network file systems), neither do
// its own.
package watch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long after the first notice files are looked at: an editor
// writes in several steps. A stream of notices doesn't put it off.
const settle = 200 * time.Millisecond

// Watcher watches a set of files.
type Watcher struct {
	log    *slog.Logger
	notify *fsnotify.Watcher
	files  []string
	names  map[string]bool // of files and of links on the way to them
	seen   map[string]contents
}

// contents is what a file, or all files of a pattern, held when they were looked
// at last.
type contents [sha256.Size]byte

// New watches files: paths, or patterns such as conf.d/*.yaml, whether or not
// they are there. It must be run.
func New(files []string, log *slog.Logger) (*Watcher, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	w := &Watcher{log: log, notify: n}
	w.use(files)
	return w, nil
}

// Run calls changed after each change, one call at a time, until ctx ends;
// changed returns the files to watch from then on.
func (w *Watcher) Run(ctx context.Context, changed func(ctx context.Context) []string) error {
	due := time.NewTimer(0)
	<-due.C
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return w.notify.Close()
		case e, ok := <-w.notify.Events:
			if ok && !waiting && w.concerns(e.Name) {
				waiting = true
				due.Reset(settle)
			}
		case err := <-w.notify.Errors:
			// Notices were lost: look.
			w.log.Warn("watching files: notices were lost", "err", err)
			if !waiting {
				waiting = true
				due.Reset(settle)
			}
		case <-due.C:
			waiting = false
			different := w.look()
			w.use(w.files) // a link may lead elsewhere by now
			if different {
				w.use(changed(ctx))
			}
		}
	}
}

// use watches the folders of files, and of what they are links to.
func (w *Watcher) use(files []string) {
	w.files, w.names = files, map[string]bool{}
	seen := make(map[string]contents, len(files))
	for _, f := range files {
		w.follow(f)
		// What was looked at before stays so: a change since then is one.
		var ok bool
		if seen[f], ok = w.seen[f]; !ok {
			seen[f] = fingerprint(f)
		}
	}
	w.seen = seen
}

// look tells whether any file differs from when it was looked at last.
func (w *Watcher) look() (different bool) {
	for _, f := range w.files {
		now := fingerprint(f)
		different = different || now != w.seen[f]
		w.seen[f] = now
	}
	return different
}

// follow watches the folder of a path, and goes on where it is a link.
func (w *Watcher) follow(path string) {
	const most = 16 // links that lead to each other
	for range most {
		dir := filepath.Dir(path)
		if err := w.notify.Add(dir); err != nil {
			w.log.Debug("folder can't be watched", "path", dir, "err", err)
		}
		w.names[filepath.Base(path)] = true
		next, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(dir, next)
		}
		path = next
	}
	// The folder may be a link, too: ..data of a ConfigMap.
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			w.names[filepath.Base(dir)] = true
			if err := w.notify.Add(filepath.Dir(dir)); err != nil {
				w.log.Debug("folder can't be watched", "path", dir, "err", err)
			}
		}
	}
}

// concerns tells whether a notice may be of one of the files. A database may
// lie in the same folder, and its notices are many.
func (w *Watcher) concerns(name string) bool {
	base := filepath.Base(name)
	if w.names[base] {
		return true
	}
	for pattern := range w.names {
		if ok, err := filepath.Match(pattern, base); err == nil && ok {
			return true
		}
	}
	return false
}

// fingerprint is of a file's content, or of the contents of all files that
// match a pattern.
func fingerprint(file string) contents {
	matches := []string{file}
	if strings.ContainsAny(file, "*?[") {
		matches, _ = filepath.Glob(file) // a wrong pattern matches nothing
	}
	var all bytes.Buffer
	for _, m := range matches {
		content, err := os.ReadFile(m) // #nosec G304 -- the operator names the files
		fmt.Fprintf(&all, "%q %t %x\n", m, err == nil, sha256.Sum256(content))
	}
	return sha256.Sum256(all.Bytes())
}
