package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FolderError is a start that failed for a folder: another one, or another mode, would help.
type FolderError struct {
	Path string
	Why  string
	Err  error // the system's; it may be nil
}

func (e *FolderError) Unwrap() error { return e.Err }

func (e *FolderError) Error() string { return fmt.Sprintf("the folder %s %s", e.Path, e.Why) }

// folderError names the folder that an error of the system is about.
func folderError(path string, err error) error {
	if fe := (*FolderError)(nil); errors.As(err, &fe) {
		return fe
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return &FolderError{pe.Path, "cannot be used: " + pe.Err.Error(), err}
	}
	return &FolderError{path, "cannot be used: " + err.Error(), err}
}

// passable is the mode of folders that the browsers' user has to get through to its own.
const passable = 0o711

// MakePassable makes a folder with those above it that are missing, so that other users get
// through, whatever the umask of the process is. One that is there and belongs to this user
// is opened for that, too.
func MakePassable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &FolderError{dir, "cannot be used: it is no folder", nil}
	case err == nil:
		if mode := info.Mode(); mode.Perm()&0o011 != 0o011 && belongsToUs(info) {
			err = os.Chmod(dir, mode&(os.ModePerm|os.ModeSticky|os.ModeSetgid|os.ModeSetuid)|0o011)
		}
		return err
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if up := filepath.Dir(dir); up != dir {
		if _, err := os.Stat(up); err != nil { // what is there above stays as its owner made it
			if err := MakePassable(up); err != nil {
				return err
			}
		}
	}
	if err := os.Mkdir(dir, passable); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, passable) // the umask may have taken something away
}

// openFolder opens the browser's own folder with its tmp in it. What clears temporary folders
// may have removed them: then they are made again, for the browser's user. Those of a browser
// that has ended are not: nobody would remove them.
func (b *Browser) openFolder() (*os.Root, error) {
	b.proc.folder.Lock()
	defer b.proc.folder.Unlock()
	if b.proc.removed {
		return nil, ErrGone
	}
	root, err := os.OpenRoot(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		up := filepath.Dir(b.dir)
		if info, e := os.Lstat(up); e == nil && (!info.IsDir() || !belongsToUs(info)) {
			return nil, &FolderError{up, "was removed, and another user has made it again", nil}
		}
		if err = MakePassable(up); err == nil {
			err = os.Mkdir(b.dir, 0o700)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = os.Lchown(b.dir, b.proc.uid, b.proc.gid)
		}
		if err == nil {
			root, err = os.OpenRoot(b.dir)
		}
	}
	if err != nil {
		return nil, err
	}
	err = root.Mkdir("tmp", 0o700)
	if err == nil {
		err = root.Lchown("tmp", b.proc.uid, b.proc.gid)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}
