package persistence

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"
)

// Sweep implements [Files].
func (f *Folder) Sweep(ctx context.Context, now time.Time) (int, error) {
	removed := 0
	var failed error // the first fault; the others are swept all the same
	note := func(err error) {
		if failed == nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	folders, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		files, err := fs.ReadDir(f.root.FS(), folder.Name())
		note(err)
		for _, file := range files {
			if ctx.Err() != nil {
				return removed, context.Cause(ctx)
			}
			stale, err := f.stale(folder.Name(), file, now)
			if err == nil && stale {
				if err = f.clear(folder.Name(), file.Name()); err == nil {
					removed++
				}
			}
			note(err)
		}
	}
	return removed, failed
}

// stale reports whether a file is to go. A blob whose description is there is
// judged with that.
func (f *Folder) stale(folder string, file fs.DirEntry, now time.Time) (bool, error) {
	name := path.Join(folder, file.Name())
	old := func() (bool, error) {
		info, err := file.Info()
		return err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > abandoned, err
	}
	random, kind, _ := strings.Cut(file.Name(), ".")
	switch {
	case folder == "tmp":
		return old()
	case !validID.MatchString(random) || len(folder) != 2: // not ours
		return false, nil
	case kind == "blob":
		_, about := paths(random)
		if _, err := f.root.Lstat(about); !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		return old()
	case kind == "json":
		b, err := f.about(name)
		if errors.Is(err, ErrNotFound) {
			return old()
		}
		if err != nil {
			return false, err
		}
		blob, _ := paths(random)
		if info, err := f.root.Lstat(blob); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != b.Size {
			return old()
		}
		return expired(stamp(b.Expires), now), nil
	}
	return false, nil
}

// clear removes what a name stands for.
func (f *Folder) clear(folder, name string) error {
	if random, kind, _ := strings.Cut(name, "."); kind == "json" && folder != "tmp" {
		return f.remove(random)
	}
	return f.root.Remove(path.Join(folder, name))
}

// All gives the descriptions of all files that are there whole, in no order.
func (f *Folder) All(ctx context.Context) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		found, err := fs.Glob(f.root.FS(), "??/*.json")
		if err != nil {
			yield(Blob{}, err)
			return
		}
		for _, name := range found {
			if ctx.Err() != nil {
				yield(Blob{}, context.Cause(ctx))
				return
			}
			b, err := f.about(name)
			if errors.Is(err, ErrNotFound) { // half written, or just removed
				continue
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

var _ interface {
	Adopter
	Lister
	Close() error
} = (*Folder)(nil)
