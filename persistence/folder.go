package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Folder is [Files] in a folder. For each file there is a blob and beside it a
// description, which is written last: without one the file is not there.
//
//	tmp/put-123        being written
//	k3/k3f7….blob      the bytes
//	k3/k3f7….json      the Blob
type Folder struct{ root *os.Root }

// abandoned is how long a half-written file may be left alone before it is
// taken for one whose process has died.
const abandoned = time.Hour

// validID is the form of every identifier: 160 random bits, and an extension
// for people who save the file. No part of a path can look like it.
var validID = regexp.MustCompile(`^[a-z2-7]{32}(\.[a-z0-9]{1,5})?$`)

// extensions of the types that the service makes or often meets.
var extensions = map[string]string{
	"application/json": ".json",
	"application/pdf":  ".pdf",
	"application/zip":  ".zip",
	"image/gif":        ".gif",
	"image/jpeg":       ".jpg",
	"image/png":        ".png",
	"image/svg+xml":    ".svg",
	"image/webp":       ".webp",
	"text/csv":         ".csv",
	"text/html":        ".html",
	"text/plain":       ".txt",
}

// NewFileID gives an identifier for a file of that type.
func NewFileID(contentType string) string {
	media, _, _ := mime.ParseMediaType(contentType)
	return randomText(20) + extensions[media]
}

// IsFileID reports whether a text has the form of an identifier.
func IsFileID(id string) bool { return validID.MatchString(id) }

// OpenFolder opens a folder of files and creates it if there is none. Only its
// owner can look into it.
func OpenFolder(dir string) (*Folder, error) {
	if err := prepareFolder(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of files: %w", err)
	}
	if err := root.Mkdir("tmp", 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		root.Close()
		return nil, fmt.Errorf("open the folder of files: %w", err)
	}
	return &Folder{root}, nil
}

// Close lets go of the folder. Files that are open stay so.
func (f *Folder) Close() error { return f.root.Close() }

// Put implements [Files]. If the folder cannot store a file, the error is
// [ErrFull] or [ErrUnwritable].
func (f *Folder) Put(ctx context.Context, b Blob, r io.Reader) (Blob, error) {
	in := &rememberingReader{r: contextReader{ctx, r}}
	b, err := f.put(b, in)
	if err == nil {
		return b, nil
	}
	if err = Unwritten(err); in.err != nil { // the folder would have taken it
		err = in.err
	}
	return Blob{}, fmt.Errorf("keep a file: %w", err)
}

func (f *Folder) put(b Blob, r io.Reader) (Blob, error) {
	b.ID = NewFileID(b.ContentType)
	b.Created = time.Now().UTC()
	return f.keep(b, r)
}

// Adopt implements [Adopter].
func (f *Folder) Adopt(ctx context.Context, b Blob, r io.Reader) error {
	if !IsFileID(b.ID) {
		return fmt.Errorf("take over a file: %q is no identifier of a file", b.ID)
	}
	_, about := paths(b.ID[:32])
	if _, err := f.about(about); !errors.Is(err, ErrNotFound) {
		return errors.Join(err, ErrConflict)
	}
	in := &rememberingReader{r: contextReader{ctx, r}}
	_, err := f.keep(b, in)
	if err = Unwritten(err); in.err != nil {
		err = in.err
	}
	if err != nil {
		return fmt.Errorf("take over a file: %w", err)
	}
	return nil
}

// keep writes a file whose name and times are known.
func (f *Folder) keep(b Blob, r io.Reader) (Blob, error) {
	name := b.ID[:32]
	blob, about := paths(name)
	tmp := "tmp/put-" + name
	defer f.root.Remove(tmp)
	var err error
	if b.Size, err = f.write(tmp, r, b.Durable); err != nil {
		return b, err
	}
	if err := f.root.Mkdir(path.Dir(blob), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return b, err
	}
	if err := f.root.Rename(tmp, blob); err != nil {
		return b, err
	}
	if err := f.describe(tmp, about, b); err != nil {
		f.root.Remove(blob)
		return b, fmt.Errorf("describe it: %w", err)
	}
	return b, nil
}

// describe writes the description, which makes the file exist.
func (f *Folder) describe(tmp, about string, b Blob) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if _, err := f.write(tmp, strings.NewReader(string(text)), b.Durable); err != nil {
		return err
	}
	if err := f.root.Rename(tmp, about); err != nil || !b.Durable {
		return err
	}
	for _, dir := range []string{path.Dir(about), "."} {
		d, err := f.root.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
	}
	return nil
}

// write makes a new file that only its owner can read.
func (f *Folder) write(name string, r io.Reader, sync bool) (int64, error) {
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, r)
	if err == nil && sync {
		err = file.Sync()
	}
	return n, errors.Join(err, file.Close())
}

// Open implements [Files].
func (f *Folder) Open(ctx context.Context, id string) (Blob, io.ReadSeekCloser, error) {
	if ctx.Err() != nil {
		return Blob{}, nil, context.Cause(ctx)
	}
	if !IsFileID(id) {
		return Blob{}, nil, ErrNotFound
	}
	blob, about := paths(id[:32])
	b, err := f.about(about)
	if err != nil {
		return Blob{}, nil, err
	}
	if b.ID != id || expired(stamp(b.Expires), time.Now()) {
		return Blob{}, nil, ErrNotFound
	}
	file, err := f.regular(blob)
	if err != nil {
		return Blob{}, nil, err
	}
	if info, err := file.Stat(); err != nil || info.Size() != b.Size {
		file.Close()
		return Blob{}, nil, errors.Join(ErrNotFound, err)
	}
	return b, file, nil
}

// about reads a description.
func (f *Folder) about(name string) (Blob, error) {
	file, err := f.regular(name)
	if err != nil {
		return Blob{}, err
	}
	defer file.Close()
	var b Blob
	if err := json.NewDecoder(io.LimitReader(file, 1<<16)).Decode(&b); err != nil {
		return Blob{}, fmt.Errorf("read the description of a file: %w", errors.Join(ErrNotFound, err))
	}
	return b, nil
}

// regular opens a file that is one: no link, no pipe.
func (f *Folder) regular(name string) (*os.File, error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open a file: %w", err)
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open a file: %w", err)
	}
	return file, nil
}

// Delete implements [Files].
func (f *Folder) Delete(ctx context.Context, id string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !IsFileID(id) {
		return nil
	}
	_, about := paths(id[:32])
	if b, err := f.about(about); err == nil && b.ID != id { // another extension
		return nil
	}
	return f.remove(id[:32])
}

// remove removes the description first, so that a file never has half its
// parts for readers.
func (f *Folder) remove(name string) error {
	blob, about := paths(name)
	for _, part := range []string{about, blob} {
		if err := f.root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete a file: %w", err)
		}
	}
	return nil
}

// paths gives the two parts of a file.
func paths(name string) (blob, about string) {
	at := name[:2] + "/" + name
	return at + ".blob", at + ".json"
}

// contextReader ends reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
