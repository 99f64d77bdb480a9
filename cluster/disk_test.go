package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
	"troupe/testkit/need"
)

// One node's full disk is that node's affair: the others go on, and it comes
// back when there is room. Where all are full, writes end with an error in time,
// and what was acknowledged stays readable.
func TestFullDiskOfANode(t *testing.T) {
	need.All(t)
	needsFaults(t)
	if os.Geteuid() != 0 {
		t.Skip("a small file system needs root")
	}
	t.Parallel()
	cfgs := configs(t, 3)
	small := filepath.Join(tempDir(t), "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", small).Run() })
	cfgs[2].Dir = filepath.Join(small, "store")
	var all []*member.Member
	for _, cfg := range cfgs {
		all = append(all, join(t, cfg))
	}
	ready(t, all...)
	soon(t, "the node has all that it is to keep", all[2].Whole)
	s := openStore(t, all[0])
	value := make([]byte, 200<<10)
	var slowest time.Duration
	wrote := 0
	for ; wrote < 100; wrote++ { // 20 MB
		start := time.Now()
		if _, err := s.Put(ctx, persistence.Write{Key: fmt.Sprintf("k/%d", wrote), Value: value}); err != nil {
			t.Fatalf("write %d with one full disk: %v", wrote, err)
		}
		slowest = max(slowest, time.Since(start))
	}
	t.Logf("%d writes of 200 KiB past the full disk of one node; the slowest took %v", wrote, slowest.Round(time.Millisecond))
	soon(t, "the node with the full disk says so", func() bool { return !all[2].Health().Ready })
	t.Logf("it says %q", all[2].Health().Reason)
	if list, err := s.List(ctx, "k/"); err != nil || len(list) != wrote {
		t.Errorf("%d records of %d, %v", len(list), wrote, err)
	}

	if all[2].Whole() || all[2].Stopped() == "" {
		t.Error("the node with the full disk counts as ready")
	}
	if out, err := exec.Command("mount", "-o", "remount,size=256m", small).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	m := all[2]
	soon(t, "the node goes on by itself", func() bool { return m.Whole() && m.Stopped() == "" && m.Health().Ready })
	all[0].Close() // so that it has to be one of the two that are needed
	again, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	back, err := store.Open(again, m)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if list, err := back.List(ctx, "k/"); err != nil || len(list) != wrote {
		t.Errorf("with room again: %d records of %d, %v", len(list), wrote, err)
	}
	all[1].Close()
	start := time.Now()
	_, err = back.Put(ctx, persistence.Write{Key: "alone"})
	if took := time.Since(start); !errors.Is(err, persistence.ErrNoQuorum) || took > hang {
		t.Errorf("a write without a majority: %v after %v", err, took)
	}
}
