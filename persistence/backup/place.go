package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Place is where backups are kept.
type Place interface {
	// Put writes a thing. Others see it when it is there whole.
	Put(ctx context.Context, name string, r io.Reader) error
	// Open reads a thing; [fs.ErrNotExist]: it is not there.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List gives the sizes of all things whose names begin so.
	List(ctx context.Context, prefix string) (map[string]int64, error)
	// Remove removes a thing. Removing one that is not there is no error.
	Remove(ctx context.Context, name string) error
}

// Folder is a [Place] in a folder.
type Folder string

// unfinished begins the name of a file that is being written.
const unfinished = ".part-"

// Put implements [Place].
func (f Folder) Put(ctx context.Context, name string, r io.Reader) (err error) {
	at := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return fmt.Errorf("make the folder of a backup: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(at), unfinished)
	if err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, reading{ctx, r})
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), at)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(at))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", at, err)
	}
	return nil
}

// Open implements [Place].
func (f Folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), filepath.FromSlash(name)))
}

// List implements [Place].
func (f Folder) List(ctx context.Context, prefix string) (map[string]int64, error) {
	all := map[string]int64{}
	from := filepath.Join(string(f), filepath.FromSlash(path.Dir(prefix+"x")))
	err := filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), unfinished) {
			return err
		}
		name, err := filepath.Rel(string(f), at)
		if name = filepath.ToSlash(name); err != nil || !strings.HasPrefix(name, prefix) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			all[name] = info.Size()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the backups in %s: %w", f, err)
	}
	return all, nil
}

// Remove implements [Place].
func (f Folder) Remove(_ context.Context, name string) error {
	at := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove of a backup: %w", err)
	}
	_ = os.Remove(filepath.Dir(at)) // if it is empty
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// reading ends with its context.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
