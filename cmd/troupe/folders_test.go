package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

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
			data, err := dataFolder(filepath.Join(t.TempDir(), "data"))
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

// TestARemovedFolderIsMadeAgain: browsers get through to a folder that was removed while the
// service ran, and to one that an earlier version has made again for root alone.
func TestARemovedFolderIsMadeAgain(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's browsers live among the temporary folders")
	}
	data, err := dataFolder(filepath.Join(t.TempDir(), "data")) // which sets the umask
	if err != nil {
		t.Fatal(err)
	}
	first, err := browserFolder(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(first) })
	for name, do := range map[string]func() error{
		"removed": func() error { return os.Remove(first) },
		"closed":  func() error { return os.Chmod(first, 0o700) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		again, err := browserFolder(data)
		if err != nil || again != first {
			t.Errorf("%s: %s, %v", name, again, err)
		}
		if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o711 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
