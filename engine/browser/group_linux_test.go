package browser_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/wait"
)

// running counts the processes of a group that have not ended, and have so much memory.
func running(t *testing.T, pgid, memory int) (n int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) < 22 || f[2] != strconv.Itoa(pgid) || f[0] == "Z" || f[0] == "X" {
			continue
		}
		if pages, _ := strconv.Atoi(f[21]); pages*os.Getpagesize() >= memory {
			n++
		}
	}
	return n
}

// TestAGroupHasEnded: a killed process ends a moment later, and a large one later still. One
// that has been asked to end first is not the last.
func TestAGroupHasEnded(t *testing.T) {
	c := exec.Command("sh", "-c", "for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=128M 2>/dev/null & done; sleep 60")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pgid := c.Process.Pid
	defer syscall.Kill(-pgid, syscall.SIGKILL)
	wait.Until(t, "the processes are large", func() bool { return running(t, pgid, 120<<20) == 3 })
	browser.EndGroup(pgid)
	_ = c.Wait()
	if !browser.AwaitGroup(pgid, 30*time.Second) {
		t.Error("the group is said to run on")
	}
	if n := running(t, pgid, 0); n != 0 {
		t.Errorf("%d processes of the group still run", n)
	}
}

// TestAGroupOfTheDeadHasEnded: where nobody asks for those that have ended, as some first
// processes of containers never do, nobody waits for them.
func TestAGroupOfTheDeadHasEnded(t *testing.T) {
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if !browser.AwaitGroup(c.Process.Pid, 30*time.Second) || time.Since(began) > 20*time.Second {
		t.Errorf("after %v the group is said to run on", time.Since(began))
	}
	if syscall.Kill(-c.Process.Pid, 0) != nil {
		t.Error("somebody has asked for it: the test shows nothing")
	}
	_ = c.Wait()
	if !browser.AwaitGroup(c.Process.Pid, 0) {
		t.Error("a group that is gone is said to run on")
	}
}
