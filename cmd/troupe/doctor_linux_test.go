package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTheDoctorTriesWhatServeDoes: on disks on which serve fails, what the doctor tries fails
// as well, for a single service and for a node of a cluster.
func TestTheDoctorTriesWhatServeDoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	node := serveCommand{}
	node.Cluster = clustering{Node: "n1", ClusterListen: "127.0.0.1:1", ClusterPeers: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, ClusterSecretFile: "secret"}
	for name, c := range map[string]struct {
		size string
		ro   bool
		want string // of the error; empty: none
	}{
		"enough room":      {"400m", false, ""},
		"only to be read":  {"400m", true, "read-only"},
		"hardly any space": {"1m", false, "no space left"},
		"too little space": {"16m", false, "nearly full"},
		"nearly enough":    {"50m", false, "nearly full"},
	} {
		disk := t.TempDir()
		if err := syscall.Mount("none", disk, "tmpfs", 0, "size="+c.size); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
		try := filepath.Join(disk, "try")
		if err := os.Mkdir(try, 0o700); err != nil {
			t.Fatal(err)
		}
		if c.ro {
			if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
		}
		for kind, flags := range map[string]serveCommand{"single": {}, "node": node} {
			if kind == "node" && !c.ro && c.want != "" { // it starts, and keeps nothing
				continue
			}
			err := flags.tryFolder(filepath.Join(disk, "data"))(t.Context(), try)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			_ = os.RemoveAll(filepath.Join(try, "d"))
		}
		if _, err := os.Stat(filepath.Join(disk, "data")); err == nil {
			t.Errorf("%s: the folder of the data was made", name)
		}
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := (&serveCommand{}).tryFolder(long)(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "choose a shorter data folder") {
		t.Errorf("a folder whose socket has too long a name: %v", err)
	}
}
