package persistence_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
)

var fullKills = flag.Int("full-kills", 0, "kills on a full disk, for each kind of disk; 0: three")

// rounds is how many kills on a full disk are tried.
func rounds() int {
	if *fullKills > 0 {
		return *fullKills
	}
	return 3
}

// TestKilledOnFullDisk kills a process that writes while its disk is full, and starts it
// again and again on the full disk: also in the middle of a start, and where what the
// first start has set free is gone before the second. Each start reads all that was
// acknowledged, and refuses writes; with room again, it takes them and makes its reserve.
func TestKilledOnFullDisk(t *testing.T) {
	need.Time(t)
	kinds := map[string]struct {
		mount func(t *testing.T, dir string) error
		fill  func(t *testing.T, dir string)
		takes bool // a file that is removed makes room for another one: writes may go on
	}{
		"tmpfs": {func(t *testing.T, dir string) error {
			return syscall.Mount("none", dir, "tmpfs", 0, "size=200m")
		}, fill, false},
		"ext4": {disks["ext4"], fill, false},
		"inodes": {func(t *testing.T, dir string) error {
			return syscall.Mount("none", dir, "tmpfs", 0, "size=300m,nr_inodes=100")
		}, takeInodes, true},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "disk")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := kind.mount(t, dir); err != nil {
				t.Skipf("no disk of its own can be made here: %v", err)
			}
			t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
			store := filepath.Join(dir, "data", "store")
			w := startWriter(t, store, nil)
			w.until(t, "it takes writes", func(w *writer) bool { return w.puts > 0 })
			reserve := size(t, store+".reserve")
			for round := range rounds() {
				w.until(t, "more is acknowledged", func(w *writer) bool { return w.puts >= 150 })
				kind.fill(t, dir)
				if round%3 != 1 && !kind.takes { // else it is killed in the middle of its writes
					w.until(t, "writes are refused", func(w *writer) bool { return w.refused })
					kind.fill(t, dir)
				}
				var acked map[string]string
				for kills := range 1 + round%3 {
					time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
					acked = w.kill(t)
					if kills > 0 { // what the last start has set free, something else has taken
						kind.fill(t, dir)
					}
					w = startWriter(t, store, acked)
				}
				w.until(t, "it starts on the full disk and refuses writes", func(w *writer) bool { return w.open && (w.refused || kind.takes) })
				w.check(t, acked, fmt.Sprintf("round %d", round))
				empty(t, dir)
				w.until(t, "writes are taken again", func(w *writer) bool { return w.puts > 0 })
				w.until(t, "the reserve is there again", func(*writer) bool { return size(t, store+".reserve") == reserve })
			}
			w.end(t)
		})
	}
}

// size is that of a file; 0: it is not there.
func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0
	case err != nil:
		t.Fatal(err)
	}
	return info.Size()
}

// takeInodes takes what is left of the files that a disk can have.
func takeInodes(t *testing.T, dir string) {
	t.Helper()
	for {
		f, err := os.CreateTemp(dir, "filler-")
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// kill ends the process, and returns what it has acknowledged.
func (w *writer) kill(t *testing.T) map[string]string {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.done // and all that it has said is read
	return maps.Clone(w.acked)
}

// check compares what the process has read at its start with what was acknowledged before.
func (w *writer) check(t *testing.T, acked map[string]string, when string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, value := range acked {
		if w.has[key] != value {
			t.Errorf("%s: %s is %q, acknowledged was %q", when, key, w.has[key], value)
		}
	}
}
