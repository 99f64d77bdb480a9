package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFullDisk fills the disk of the data folder under a service that runs: each
// request has a definite answer, and all is well again when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=192m"); err != nil {
		t.Skipf("no disk of its own can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	data := filepath.Join(dir, "data")
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	_, limited, stderr := play(t, "", "token", "create", "--account=ada", "--plan=free", "--data="+data)
	if limited = strings.TrimSpace(limited); limited == "" {
		t.Fatal(stderr)
	}
	const later = `{"async":true,"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`
	const session = `{"session":{"preserve":true},"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`
	_, got, err := post(base, token, later)
	done := read(t, got)
	if get(t, base, token, "/v1/get-result?wait=20000&taskId="+done.TaskID); err != nil || !done.Success {
		t.Fatalf("the first task: %v: %s", err, got)
	}
	until := func(full bool) {
		t.Helper()
		for end := time.Now().Add(15 * time.Second); strings.Contains(notices(t, base), "nearly full") != full; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("/readyz says %q", notices(t, base))
			}
		}
	}
	filler := filepath.Join(dir, "filler")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filler, make([]byte, int64(disk.Bavail)*int64(disk.Bsize)-(50<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	until(true)
	for _, tc := range []struct{ token, task string }{{token, shopTask}, {limited, shopTask}, {token, later}, {token, session}} {
		if status, got, err := post(base, tc.token, tc.task); status != 503 || !strings.Contains(got, `"code":"storage_full","retryable":true`) {
			t.Errorf("on a full disk, %s: %d, %v: %s", tc.task, status, err, got)
		}
	}
	if status, got := get(t, base, token, "/v1/get-result?taskId="+done.TaskID); status != 200 || !strings.Contains(got, `"data":42`) {
		t.Errorf("a result that was there before: %d: %s", status, got)
	}
	if code, _, stderr := play(t, "", "account", "create", "bob", "--plan=free", "--data="+data); code != exitFailed || !strings.Contains(stderr, "the disk is nearly full") {
		t.Errorf("an operator's command: %d, %s", code, stderr)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	until(false)
	for _, tc := range []struct{ token, task string }{{limited, shopTask}, {token, later}, {token, session}} {
		if status, got, err := post(base, tc.token, tc.task); status != 200 || !strings.Contains(got, `"success":true`) {
			t.Errorf("when there is space again, %s: %d, %v: %s", tc.task, status, err, got)
		}
	}
	_ = c.Process.Signal(syscall.SIGTERM) // before its disk goes
	if err := c.end(t, 10*time.Second); err != nil {
		t.Errorf("the stop: %v", err)
	}
}
