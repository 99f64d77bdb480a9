package outside_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// killBrowsers kills what runs with a browser's folder below a folder. That may be nothing:
// a browser whose folder was removed between two tasks is replaced by the service itself.
func killBrowsers(t *testing.T, below string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "--user-data-dir="+below+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestTemporaryFolderRemoved: what clears temporary folders removes that of a service while
// it runs, whole or in part, as root and with a strict umask. The service goes on, with the
// browsers that run and with those that start then. One that browsers cannot enter is named.
//
// Promise: A temporary folder that is removed is made anew (docs/operations.md).
func TestTemporaryFolderRemoved(t *testing.T) {
	need.Time(t)
	if os.Geteuid() != 0 {
		t.Skip("browsers have a temporary folder under root")
	}
	t.Parallel()
	dir := shortFolder(t)
	tmp := filepath.Join(dir, "tmp")
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	c := spawnAs(t, "/bin/sh", "", []string{"TMPDIR=" + tmp}, "-c", `umask 077; exec "$0" "$@"`, program, "serve", "--listen=127.0.0.1:0", "--workers=1", "--data="+filepath.Join(dir, "data"))
	base := c.greeting(t)
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"at first", func() {}},
		{"without its folder", func() { removeAll(t, tmp) }},
		{"without its folder, in new browsers", func() { removeAll(t, tmp); killBrowsers(t, tmp) }},
		{"without the folder of its browsers", func() {
			all, err := filepath.Glob(filepath.Join(tmp, "troupe-*"))
			if err != nil || len(all) == 0 {
				t.Fatalf("folders of browsers: %v, %v", all, err)
			}
			for _, one := range all {
				removeAll(t, one)
			}
			killBrowsers(t, tmp)
		}},
	} {
		step.do()
		wait.Until(t, step.name+" a task is played", func() bool {
			status, body, err := post(base, token, `{"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"}]}`)
			return err == nil && status == 200 && strings.Contains(body, `/files/`)
		})
		pictured(t, base, token)
	}
	removeAll(t, tmp)
	err := os.Mkdir(tmp, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) { // the service may have been faster
		err = os.Chmod(tmp, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the folder that browsers cannot enter is named", func() bool {
		killBrowsers(t, tmp) // one may have started just before the folder's mode changed
		status, body := fetch(t, base+"/readyz", "")
		return status == 503 && strings.Contains(body, tmp)
	})
}

// removeAll removes a folder in which browsers go on writing.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	wait.Until(t, dir+" is removed", func() bool { return os.RemoveAll(dir) == nil })
}
