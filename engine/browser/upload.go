package browser

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
