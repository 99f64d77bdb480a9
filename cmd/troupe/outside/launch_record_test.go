package outside_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/wait"
)

// openFolder is a folder that the browsers' user can look into as well.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStartWithoutABrowser: where no browser can be started at all, the start is
// over at once, with a sentence, and nothing is left behind.
func TestStartWithoutABrowser(t *testing.T) {
	t.Parallel()
	dir := openFolder(t)
	text, ends := filepath.Join(dir, "text"), filepath.Join(dir, "ends")
	for name, mode := range map[string]os.FileMode{text: 0o644, ends: 0o755} {
		if err := errors.Join(os.WriteFile(name, []byte("#!/bin/sh\necho not today >&2\nexit 3\n"), 0o600), os.Chmod(name, mode)); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct{ program, says string }{
		"no file":         {filepath.Join(dir, "none"), "no such file"},
		"no program":      {text, "permission denied"},
		"a folder":        {dir, "cannot be executed"},
		"it ends at once": {ends, "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(shortFolder(t), "data")
			began := time.Now()
			c := spawn(t, "serve", "--listen=127.0.0.1:0", "--data="+data, "--workers=2", "--browser="+tc.program)
			_ = c.end(t, hang)
			if code := c.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(c.errs.String(), tc.says) {
				t.Errorf("exit code %d, %s", code, c.errs.String())
			}
			if took := time.Since(began); took > wait.Hang/4 {
				t.Errorf("it took %v", took)
			}
			if said := c.out.String(); said != "" {
				t.Errorf("it greets: %s", said)
			}
			if _, err := os.Stat(socketIn(data)); err == nil {
				t.Error("the private socket is left")
			}
		})
	}
}

// TestBrowsersThatStartNoMore: a service whose browser was taken away is not ready,
// says why, and is ready again when it is back.
func TestBrowsersThatStartNoMore(t *testing.T) {
	t.Parallel()
	program, err := browser.Find()
	if err != nil {
		t.Skip(err)
	}
	dir := openFolder(t)
	there, wrapped := filepath.Join(dir, "there"), filepath.Join(dir, "wrapped")
	put := func(name, content string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name, []byte(content), 0o600), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	put(there, "", 0o644)
	put(wrapped, fmt.Sprintf("#!/bin/sh\n[ -e %s ] && exec %s \"$@\"\nexit 1\n", there, program), 0o755)
	data := filepath.Join(shortFolder(t), "data")
	c, base := serve(t, data, "--workers=1", "--browser="+wrapped)
	if said := c.out.String(); !strings.Contains(said, "with 1 worker.") {
		t.Errorf("it greets: %s", said)
	}
	d := operatorCLI{t, data}
	d.says("worker", "drain", "worker-1")
	d.until("worker-1", "drained")
	if err := os.Remove(there); err != nil {
		t.Fatal(err)
	}
	d.says("worker", "resume", "worker-1")
	says := func(status int, text string) {
		t.Helper()
		for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
			got, body := fetch(t, base+"/readyz", "")
			if got == status && strings.Contains(body, text) {
				if strings.Contains(body, dir) {
					t.Errorf("it names a folder: %s", body)
				}
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d %s", got, body)
			}
		}
	}
	says(503, "the program ends at once")
	put(there, "", 0o644)
	says(200, `"ready"`)
	if _, body := fetch(t, base+"/readyz", ""); strings.Contains(body, "browsers do not start") {
		t.Errorf("it is ready, and says %s", body)
	}
}
