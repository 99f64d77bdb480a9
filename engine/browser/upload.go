package browser

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// KeepUpload writes a file into the browser's own folder, under a harmless form of
// its name, so that a page can read it. It is removed with the context. The folder
// belongs to the browser's user, who might be hostile: no link out of it is
// followed.
func (tr *Transfers) KeepUpload(name string, r io.Reader) (path string, size int64, err error) {
	root, err := tr.context.b.openFolder()
	if err != nil {
		return "", 0, fmt.Errorf("opening the browser's folder: %w", err)
	}
	defer root.Close()
	room, err := tr.uploadRoom()
	if err != nil {
		return "", 0, err
	}
	uid, gid := tr.context.b.proc.uid, tr.context.b.proc.gid
	rel := filepath.Join("tmp", "up-"+rand.Text())
	if err := root.Mkdir(rel, 0o700); err != nil {
		return "", 0, fmt.Errorf("making a folder for an upload: %w", err)
	}
	file := filepath.Join(rel, label(name))
	f, err := root.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", 0, errors.Join(err, root.RemoveAll(rel))
	}
	size, err = io.Copy(f, io.LimitReader(r, room+1))
	if err == nil && size > room {
		err = ErrUploads
	}
	if err = errors.Join(err, f.Close(), root.Lchown(file, uid, gid), root.Lchown(rel, uid, gid)); err != nil {
		return "", size, errors.Join(err, root.RemoveAll(rel))
	}
	tr.uploaded(root, rel, size)
	return filepath.Join(tr.context.b.dir, file), size, err
}

// FolderOf puts files that were kept before into a folder, for an input that takes one, and
// returns its path. It is removed with the context, as they are.
func (tr *Transfers) FolderOf(paths []string) (string, error) {
	b := tr.context.b
	root, err := b.openFolder()
	if err != nil {
		return "", fmt.Errorf("opening the browser's folder: %w", err)
	}
	defer root.Close()
	rel := filepath.Join("tmp", "up-"+rand.Text())
	folder := filepath.Join(rel, "files")
	for _, dir := range []string{rel, folder} {
		if err := errors.Join(root.Mkdir(dir, 0o700), root.Lchown(dir, b.proc.uid, b.proc.gid)); err != nil {
			return "", errors.Join(fmt.Errorf("making a folder for uploads: %w", err), root.RemoveAll(rel))
		}
	}
	used := map[string]bool{}
	for _, path := range paths {
		from, err := filepath.Rel(b.dir, path)
		if err != nil {
			return "", errors.Join(err, root.RemoveAll(rel))
		}
		name := filepath.Base(path)
		for n, ext := 2, filepath.Ext(name); used[name]; n++ {
			name = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(filepath.Base(path), ext), n, ext)
		}
		used[name] = true
		if err := root.Link(from, filepath.Join(folder, name)); err != nil {
			return "", errors.Join(fmt.Errorf("putting a file into a folder: %w", err), root.RemoveAll(rel))
		}
	}
	tr.uploaded(root, rel, 0)
	return filepath.Join(b.dir, folder), nil
}
