package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func belongsToUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// barred finds the first folder on the way to a path that a user cannot get through, or that
// is missing. It looks at modes alone; nil: they let the user through.
func barred(path string, uid, gid uint32) *FolderError {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	at := "/"
	for _, name := range append([]string{""}, strings.Split(strings.Trim(path, "/"), "/")...) {
		at = filepath.Join(at, name)
		info, err := os.Stat(at)
		if err != nil {
			return &FolderError{at, "cannot be used: " + causeOf(err), err}
		}
		if !info.IsDir() {
			return nil // the program itself
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		need := os.FileMode(0o001)
		switch {
		case st.Uid == uid:
			need = 0o100
		case st.Gid == gid:
			need = 0o010
		}
		if info.Mode().Perm()&need == 0 {
			return &FolderError{at, fmt.Sprintf("cannot be entered by the browsers' user %d: its mode is %04o. Allow it with chmod o+x, or set TMPDIR to another folder", uid, info.Mode().Perm()), nil}
		}
	}
	return nil
}

func causeOf(err error) string {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
