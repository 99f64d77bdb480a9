package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/testkit/need"
)

// disk is a file system of its own, whose power can be cut: what was not synced
// is gone then.
type disk struct{ image, at string }

func newDisk(t *testing.T, name string) *disk {
	t.Helper()
	dir := tempDir(t)
	d := &disk{filepath.Join(dir, name+".img"), filepath.Join(dir, name)}
	f, err := os.Create(d.image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(128 << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Mkdir(d.at, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		t.Skipf("no file system can be made here: %v: %s", err, out)
	}
	d.mount(t)
	t.Cleanup(func() { exec.Command("umount", "-l", d.at).Run() })
	return d
}

func (d *disk) mount(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "loop", d.image, d.at).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
}

// cut ends the file system as a loss of power does.
func (d *disk) cut() error {
	const shutdown, withoutLog = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
	f, err := os.Open(d.at)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, withoutLog)
}

// When all nodes lose their power at once, everything that was acknowledged is
// there afterwards; unless they were told not to wait for their disks.
//
// Promise: A loss of power loses nothing that was acknowledged
// (docs/cluster.md#when-a-node-is-lost).
func TestPowerLoss(t *testing.T) {
	need.All(t)
	needsFaults(t)
	if os.Geteuid() != 0 {
		t.Skip("cutting the power of a file system needs root")
	}
	t.Parallel()
	for _, c := range []struct {
		name     string
		unsynced bool
	}{{"synced", false}, {"unsynced", true}} {
		t.Run(c.name, func(t *testing.T) {
			lost, acked := cutPower(t, c.unsynced)
			if acked < 20 {
				t.Errorf("only %d writes were acknowledged", acked)
			}
			if !c.unsynced && lost > 0 {
				t.Errorf("%d of %d acknowledged writes are lost", lost, acked)
			}
			t.Logf("%d of %d acknowledged writes are lost", lost, acked)
		})
	}
}

func cutPower(t *testing.T, unsynced bool) (lost, acked int) {
	cfgs := configs(t, 3)
	var disks []*disk
	for i := range cfgs {
		d := newDisk(t, cfgs[i].Name)
		disks = append(disks, d)
		cfgs[i].Dir, cfgs[i].Unsynced = filepath.Join(d.at, "store"), unsynced
	}
	all := startProcesses(t, cfgs)
	var mu sync.Mutex
	wrote := map[string]string{}
	var took []time.Duration
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key, value := fmt.Sprintf("w/%d/%d", w, n), fmt.Sprintf("%0200d", n)
				start := time.Now()
				a := all[w].do(storeCommand{Op: "put", Key: key, Value: value})
				if a.Err != "" {
					return // the power is gone
				}
				mu.Lock()
				wrote[key] = value
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	time.Sleep(1500 * time.Millisecond)
	for _, d := range disks {
		if err := d.cut(); err != nil {
			t.Skipf("the power of a file system cannot be cut here: %v", err)
		}
	}
	close(stop)
	for _, p := range all {
		p.kill()
	}
	writers.Wait()
	slices.Sort(took)
	if len(took) > 0 {
		t.Logf("3 writers: %d writes, median %v, 99 %% below %v", len(took), took[len(took)/2].Round(time.Microsecond), took[len(took)*99/100].Round(time.Microsecond))
	}
	for _, d := range disks {
		if out, err := exec.Command("umount", d.at).CombinedOutput(); err != nil {
			t.Fatalf("umount: %v: %s", err, out)
		}
		d.mount(t)
	}
	all = startProcesses(t, cfgs)
	for key, value := range wrote {
		switch a := all[0].do(storeCommand{Op: "get", Key: key}); {
		case a.Err == "missing" || a.Err == "" && a.Value != value:
			lost++
		case a.Err != "":
			t.Fatalf("get %s: %s", key, a.Err)
		}
	}
	return lost, len(wrote)
}
