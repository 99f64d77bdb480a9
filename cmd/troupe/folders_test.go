package main

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
func TestFilesAreNobodyElses(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	const task = `{"session":{"preserve":true},"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"body"}]}`
	if status, got, err := post(base, token, task); status != 200 || !strings.Contains(got, `"success":true`) {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	browsers, err := browserFolder(data)
	if err != nil {
		t.Fatal(err)
	}
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

// TestAStrangersFolder: whoever makes the folder first that browsers usually get
// among the temporary ones, a link to one or a file does not keep the service
// from starting, and gets nothing of the browsers.
func TestAStrangersFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's browsers live among the temporary folders")
	}
	t.Parallel()
	for name, trap := range map[string]func(dir string) error{
		"another user's folder": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, 65534, 65534)) },
		"open to all":           func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777)) },
		"a link":                func(dir string) error { return os.Symlink("/etc", dir) },
		"a file":                func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := dataFolder(filepath.Join(shortFolder(t), "data"))
			if err != nil {
				t.Fatal(err)
			}
			usual := browsersIn(data)
			if err := trap(usual); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(usual) })
			first, err := browserFolder(data)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(first) })
			info, err := os.Lstat(first)
			if err != nil || first == usual || !info.IsDir() || info.Mode().Perm() != 0o711 || !ours(info) {
				t.Errorf("%s: %v, %v", first, info, err)
			}
			if again, err := browserFolder(data); err != nil || again != first {
				t.Errorf("the next start looks in %s, %v", again, err)
			}
			if err := os.Remove(first); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(first, 0o777); err != nil || os.Chown(first, 65534, 65534) != nil { // meanwhile a stranger's
				t.Fatal(err)
			}
			third, err := browserFolder(data)
			if err != nil || third == first {
				t.Errorf("%s, %v", third, err)
			}
			t.Cleanup(func() { os.RemoveAll(third) })
		})
	}
}
