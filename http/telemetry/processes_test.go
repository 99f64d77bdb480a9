package telemetry

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDescendants: both ways to look find the same processes, also those that a
// thread started which has ended since, and none of others.
func TestDescendants(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		t.Skip("threads do not list their children here")
	}
	cmd := exec.Command("sh", "-c", `sleep 60 & sh -c 'sleep 60 & echo $!; wait' & echo $!; wait`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // with no unlock: the thread ends with this
		started <- cmd.Start()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	var family []int
	t.Cleanup(func() {
		for _, pid := range append(family, cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the family does not tell of itself")
		}
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatal(err)
		}
		family = append(family, pid)
	}
	family = slices.Sorted(slices.Values(searched(cmd.Process.Pid)))
	got := slices.Sorted(slices.Values(descendants(cmd.Process.Pid)))
	if len(family) != 3 || !slices.Equal(got, family) {
		t.Errorf("by its threads the family is %v, among all processes %v, want three", got, family)
	}
	ours := slices.Sorted(slices.Values(descendants(os.Getpid())))
	if all := slices.Sorted(slices.Values(searched(os.Getpid()))); !slices.Equal(ours, all) || !slices.Contains(ours, cmd.Process.Pid) {
		t.Errorf("by its threads this process has %v below it, among all processes %v, want %d in both", ours, all, cmd.Process.Pid)
	}
	if sum, ok := Browsers(); !ok || sum.Number != len(ours) || sum.Threads < 4 || sum.Memory <= 0 {
		t.Errorf("%+v, %v", sum, ok)
	}
}

// BenchmarkBrowsers is what a fetch of the metrics spends on processes.
func BenchmarkBrowsers(b *testing.B) {
	for b.Loop() {
		Browsers()
	}
}
