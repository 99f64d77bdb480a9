package browser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// KeepUpload writes a file into the browser's own folder, under a harmless form
// of its name, so that a page can have it. It goes with the context. The folder
// belongs to the browser's user, who might be hostile: nothing is followed out
// of it.
func (c *Context) KeepUpload(name string, r io.Reader) (path string, size int64, err error) {
	root, err := os.OpenRoot(c.b.dir)
	if err != nil {
		return "", 0, fmt.Errorf("opening the browser's folder: %w", err)
	}
	defer root.Close()
	room, err := c.uploadRoom()
	if err != nil {
		return "", 0, err
	}
	uid, gid := ownerOf(c.b.dir)
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
	c.uploaded(root, rel, size)
	return filepath.Join(c.b.dir, file), size, err
}

// SetFiles puts files into the file input that the page script has chosen.
func (t *Tab) SetFiles(ctx context.Context, paths []string) error {
	input, err := t.chosen(ctx)
	if err != nil {
		return err
	}
	if input == "" {
		return fmt.Errorf("the file input is gone")
	}
	return t.setFiles(ctx, dom.SetFileInputFilesParams{Files: paths, ObjectID: input})
}

func (t *Tab) setFiles(ctx context.Context, p dom.SetFileInputFilesParams) error {
	if err := t.s.call(ctx, dom.CommandSetFileInputFiles, p, nil); err != nil {
		return fmt.Errorf("setting the files: %w", err)
	}
	return nil
}

// chosen is the element that the page script has chosen in the call before;
// empty when its document is gone.
func (t *Tab) chosen(ctx context.Context) (runtime.RemoteObjectID, error) {
	world, err := t.enter(ctx)
	if err != nil {
		return "", err
	}
	var handle struct {
		Result runtime.RemoteObject `json:"result"`
	}
	err = t.s.call(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: object + ".element()", ContextID: runtime.ExecutionContextID(world),
	}, &handle)
	if err != nil && !replaced(err) {
		return "", err
	}
	return handle.Result.ObjectID, nil
}
