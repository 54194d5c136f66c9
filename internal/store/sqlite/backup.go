package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
)

// Copy is one database file and the copy that Backup makes of it.
type Copy struct {
	From string
	To   string
	// Size is the copy's, in bytes. Backup sets it.
	Size int64
}

// Backup copies database files while others read and write them. Each copy is
// of one moment, readable by its owner only, and on the disk when Backup
// returns. Where there is something under one of the new names already, or
// anything else goes wrong, none of them is left. They appear in the order
// given, so that the last one tells that all are there.
//
// A process that is killed meanwhile leaves files with names like .TO.123.part.
func Backup(ctx context.Context, copies []Copy) (err error) {
	for _, c := range copies {
		if _, err := os.Stat(c.From); err != nil {
			return fmt.Errorf("reading database: %w (has parley been started here?)", err)
		}
		if _, err := os.Lstat(c.To); err == nil {
			return fmt.Errorf("%s is there already, and a backup overwrites nothing: choose another name, or remove it", c.To)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("looking whether there is a file already: %w", err)
		}
	}
	var parts, made []string
	defer func() {
		if err == nil {
			made = nil
		}
		for _, name := range append(parts, made...) {
			if gone := os.Remove(name); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	for i := range copies {
		part, err := emptyFile(copies[i].To)
		if err != nil {
			return err
		}
		parts = append(parts, part)
		if copies[i].Size, err = vacuumInto(ctx, copies[i].From, part); err != nil {
			return fmt.Errorf("copying %s to %s: %w", copies[i].From, copies[i].To, err)
		}
	}
	for i, c := range copies {
		if err := publish(parts[i], c.To); err != nil {
			return err
		}
		made = append(made, c.To)
		if err := syncFolder(filepath.Dir(c.To)); err != nil {
			return err
		}
	}
	return nil
}

// emptyFile makes a file beside name that only its owner can read.
func emptyFile(name string) (string, error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*.part")
	if err != nil {
		return "", fmt.Errorf("writing into folder %s: %w (does it exist, and may this user write there?)", dir, err)
	}
	return f.Name(), f.Close()
}

// vacuumInto copies a database into an empty file. The connection can't write
// the database; query_only would forbid the copy too.
func vacuumInto(ctx context.Context, from, to string) (size int64, err error) {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "cache_size(-4000)"}}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: from}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?1`, to)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // rather than "interrupted"
	}
	if err := errors.Join(explain(err), db.Close()); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// publish gives a file its name, which nobody else may have taken meanwhile.
func publish(part, name string) error {
	err := os.Link(part, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// Not every file system has links.
	return os.Rename(part, name)
}

// syncFolder makes a new name outlive a power cut.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it can't open folders, and writes names by itself
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
