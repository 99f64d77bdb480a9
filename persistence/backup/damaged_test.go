package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
	"troupe/persistence/backup"
)

// made is a place with a full backup and an incremental one.
func made(t *testing.T) (n *node, at backup.Folder) {
	t.Helper()
	n = open(t, newSeal(t, 1))
	at = backup.Folder(filepath.Join(t.TempDir(), "backups"))
	n.upload(t, "ada/0", "an upload")
	for i := range 2 {
		for k := range 20 {
			size := 10
			if k%5 == 0 {
				size = 300 << 10
			}
			if err := n.values.Put(ctx, persistence.Item{Key: fmt.Sprintf("task/%d-%d", i, k), Value: bytes.Repeat([]byte{byte(k)}, size)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := backup.Make(ctx, n.source(), at, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	return n, at
}

// TestDamagedBackup changes, cuts off and removes each thing of a backup: it is never taken
// for a good one.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	_, at := made(t)
	things, err := at.List(ctx, "")
	if err != nil || len(things) < 10 {
		t.Fatalf("%v, %v", things, err)
	}
	for name := range things {
		if strings.Contains(name, "/000001-") && strings.HasSuffix(name, "/files") {
			continue // the next one has a list of its own
		}
		file := filepath.Join(string(at), name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string][]byte{"changed": flip(whole, len(whole)/2), "changed at its end": flip(whole, len(whole)-3), "cut off": whole[:len(whole)-1], "longer": append(bytes.Clone(whole), '{'), "removed": nil} {
			if bad == nil {
				os.Remove(file)
			} else if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := backup.Find(ctx, at, "")
			if err == nil && !(what == "removed" && strings.Contains(name, "manifest") && strings.HasPrefix(b.Name, "000001")) {
				err = b.Check(ctx)
			} else if err == nil { // then the older one is the newest
				err = errors.Join(b.Check(ctx), backup.ErrBroken)
			}
			if err == nil && !harmless(name, what, whole, bad) {
				t.Errorf("%s was %s, and the backup is good", name, what)
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := backup.Find(ctx, at, ""); err != nil || b.Check(ctx) != nil {
		t.Errorf("the whole one: %v", err)
	}
}

// harmless reports whether a manifest says the same but for what only people read.
func harmless(name, what string, whole, bad []byte) bool {
	if !strings.HasSuffix(name, "manifest.json") {
		return false
	}
	var a, b backup.Manifest
	if json.Unmarshal(whole, &a) != nil || json.Unmarshal(bad, &b) != nil {
		return false
	}
	for _, m := range []*backup.Manifest{&a, &b} {
		m.Node, m.Version, m.Began, m.Snapshot, m.Ended, m.Key, m.NewFiles, m.NewBytes, m.FileBytes, m.RecordSize, m.ListSize, m.Revision = "", "", time.Time{}, time.Time{}, time.Time{}, nil, 0, 0, 0, 0, 0, 0
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

// lossy loses what is written to it, as a disk or a network may.
type lossy struct {
	backup.Folder
	lose func(name string) bool
}

func (l lossy) Put(ctx context.Context, name string, r io.Reader) error {
	if err := l.Folder.Put(ctx, name, r); err != nil || !l.lose(name) {
		return err
	}
	file := filepath.Join(string(l.Folder), name)
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, info.Size()-1)
}

// TestBackupIsReadBack: a place that says that it has taken everything, and has not, gets no
// manifest.
func TestBackupIsReadBack(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"/records", "/files", "/files/"} {
		n, at := made(t)
		if err := n.values.Put(ctx, persistence.Item{Key: "task/new", Value: make([]byte, 300<<10)}); err != nil {
			t.Fatal(err)
		}
		before, _ := backup.List(ctx, at, "")
		m, err := backup.Make(ctx, n.source(), lossy{at, func(name string) bool {
			return strings.HasSuffix(name, part) || strings.HasSuffix(part, "/") && strings.Contains(name, part)
		}}, false, nil)
		if !errors.Is(err, backup.ErrBroken) {
			t.Errorf("%s was cut off: %+v, %v", part, m, err)
		}
		after, _ := backup.List(ctx, at, "")
		if len(before.Stores) != 1 || len(after.Stores) != 1 || !maps.EqualFunc(before.Stores, after.Stores, func(a, b []*backup.Manifest) bool { return len(a) == len(b) }) {
			t.Errorf("%s was cut off, and there is one more backup", part)
		}
		if m, err := backup.Make(ctx, n.source(), at, false, nil); err != nil {
			t.Errorf("the next one: %v", err)
		} else {
			same(t, "the next one", restored(t, at, m.Name).contents(t), n.contents(t))
		}
	}
}
