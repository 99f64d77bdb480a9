package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// processesOf are the processes of a browser's group.
func processesOf(t *testing.T, pid int) (all []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		b, err := os.ReadFile(d + "/stat")
		if err != nil {
			continue // it has ended
		}
		if f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])); len(f) > 2 && f[2] == strconv.Itoa(pid) {
			all = append(all, d)
		}
	}
	return all
}

func statusOf(path, field string) string {
	b, _ := os.ReadFile(path + "/status")
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// TestBrowsersHaveNothingOfOurs: no process of a browser has a file that the
// service was started with, and none can gain privileges, while the service, and
// what it starts otherwise, is as it was.
func TestBrowsersHaveNothingOfOurs(t *testing.T) {
	need.Browser(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(secret, syscall.O_RDONLY, 0) // as a careless starter leaves it: it goes on to what is started
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	before := statusOf("/proc/self", "NoNewPrivs")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := browser.Launch(ctx, options(os.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := b.NewContext(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Navigation.Open(ctx, "about:blank"); err != nil { // so that there is a process for a page
		t.Fatal(err)
	}
	all := processesOf(t, b.PID())
	if len(all) < 3 {
		t.Fatalf("the browser has the processes %v", all)
	}
	for _, p := range all {
		open, err := os.ReadDir(p + "/fd")
		if err != nil {
			continue // it has ended
		}
		for _, f := range open {
			if at, _ := os.Readlink(p + "/fd/" + f.Name()); at == secret {
				t.Errorf("%s (%s) has the file %s as %s", p, statusOf(p, "Name"), secret, f.Name())
			}
		}
		if got := statusOf(p, "NoNewPrivs"); got != "1" {
			t.Errorf("%s (%s) has NoNewPrivs %q", p, statusOf(p, "Name"), got)
		}
	}
	if _, err := syscall.Seek(fd, 0, 0); err != nil {
		t.Errorf("the file is closed for the service itself: %v", err)
	}
	if before == "1" {
		t.Skip("the test itself may gain no privileges: nothing can be lost by it")
	}
	for range 50 { // threads that were made since then
		ended := make(chan struct{})
		go func() { defer close(ended); time.Sleep(time.Millisecond) }()
		<-ended
	}
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, th := range threads {
		for statusOf(th, "NoNewPrivs") == "1" { // that of the start is about to end
			if time.Now().After(deadline) {
				t.Fatalf("the thread %s of the service can gain no privileges", th)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestSetuidHelpers: where a browser's sandbox works only with its setuid helper,
// the browser is let have the privileges that this needs, and where it has none,
// it is not.
func TestSetuidHelpers(t *testing.T) {
	need.Browser(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can make a helper")
	}
	real, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "helped")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "browser")
	script := fmt.Sprintf("#!/bin/sh\nif grep -q 'NoNewPrivs:.*1' /proc/self/status; then echo 'No usable sandbox!' >&2; exit 1; fi\nexec %s \"$@\"\n", real)
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	o := options(os.TempDir())
	o.Path = program
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if b, err := browser.Launch(ctx, o); err == nil {
		b.Close()
		t.Fatal("a browser that says that it has no sandbox, and has no helper, was started with privileges")
	}
	defer browser.ForgetHelp()
	helper := filepath.Join(dir, "chrome-sandbox")
	if err := os.WriteFile(helper, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(helper, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second knows it
		b, err := browser.Launch(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
}
