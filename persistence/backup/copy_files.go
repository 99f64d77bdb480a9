package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"troupe/persistence"
)

// copyFiles copies the files that no backup has.
func (b *making) copyFiles(ctx context.Context) error {
	now := time.Now()
	for blob, err := range b.Files.All(ctx) {
		if err != nil {
			return fmt.Errorf("list the files: %w", err)
		}
		if b.files[blob.ID].ID != "" || !blob.Expires.IsZero() && !now.Before(blob.Expires) {
			continue
		}
		if b.known(blob.ID, blob.Size) {
			continue
		}
		_, f, err := b.Files.Open(ctx, blob.ID)
		if errors.Is(err, persistence.ErrNotFound) { // removed meanwhile
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(b.copyFile(ctx, file{Blob: blob}, f), f.Close()); err != nil {
			return err
		}
	}
	return b.copyUploads(ctx)
}

// known takes a file from an earlier backup that has it whole.
func (b *making) known(key string, size int64) bool {
	old, has := b.old[key]
	if !has || old.Size != size {
		return false
	}
	if there, has := b.there[filePath(b.m.Store, old.name())]; !has || there != size {
		return false
	}
	b.files[key] = old
	return true
}

// key is what a file is called among the others of a backup.
func (f *file) key() string {
	if f.Upload != "" {
		return "/" + f.Upload
	}
	return f.ID
}

// copyUploads copies the files of queued tasks. A folder of them goes with its task.
func (b *making) copyUploads(ctx context.Context) error {
	if b.Uploads == "" {
		return nil
	}
	err := filepath.WalkDir(b.Uploads, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(b.Uploads, at)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		up := file{Blob: persistence.Blob{Size: info.Size(), Created: info.ModTime().UTC()}, Upload: filepath.ToSlash(rel)}
		if _, has := b.files[up.key()]; has || b.known(up.key(), up.Size) {
			return nil
		}
		f, err := os.Open(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, reading{ctx, f}); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		up.Sum = hex.EncodeToString(sum.Sum(nil))
		return b.copyFile(ctx, up, f)
	})
	if err != nil {
		return fmt.Errorf("copy the files of queued tasks: %w", err)
	}
	return nil
}

// copyFile copies a file and notes its checksum.
func (b *making) copyFile(ctx context.Context, f file, from io.Reader) error {
	sum := sha256.New()
	n := &counting{r: io.TeeReader(from, sum)}
	if err := b.to.Put(ctx, filePath(b.m.Store, f.name()), n); err != nil {
		if n.err != nil && f.Upload == "" {
			_, again, no := b.Files.Open(ctx, f.ID)
			if errors.Is(no, persistence.ErrNotFound) {
				return nil // it was removed while it was read
			}
			if no == nil {
				_ = again.Close()
			}
		}
		return err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if n.n != f.Size || f.Upload != "" && got != f.Sum {
		return fmt.Errorf("copy the file %s: it has %d bytes, and should have %d", f.key(), n.n, f.Size)
	}
	f.Sum = got
	b.files[f.key()], b.wrote[f.key()] = f, true
	b.there[filePath(b.m.Store, f.name())] = f.Size
	b.m.NewFiles++
	b.m.NewBytes += f.Size
	return nil
}

// counting counts what is read, and remembers why that ended.
type counting struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
