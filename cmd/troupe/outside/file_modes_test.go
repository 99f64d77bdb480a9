package outside_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shortFolder is a folder whose name leaves room for that of a socket.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestFilesAreNobodyElses looks at each file and folder of a service that has kept
// a session, a picture and a later answer, and of its browser.
//
// Promise: Files of a task belong to its account (docs/security.md).
func TestFilesAreNobodyElses(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	const task = `{"session":{"preserve":true},"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"body"}]}`
	if status, got, err := post(base, token, task); status != 200 || !strings.Contains(got, `"success":true`) {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	browsers := browsersIn(data)
	files := 0
	for _, dir := range []string{data, browsers} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // what a browser has just put away
			}
			if err != nil || p == browsers { // that may be passed, as the browser has to
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if info.Mode().Type() != fs.ModeSymlink && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %v", p, info.Mode())
			}
			files++
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 30 {
		t.Errorf("%d files and folders were seen", files)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
}
