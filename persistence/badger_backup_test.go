package persistence_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/testkit/need"
)

// TestBackup writes a backup and makes a store of it, which goes on with higher
// revisions; one that was changed or cut off anywhere is refused.
//
// Promise: A backup has all that was acknowledged before it (docs/operations.md).
func TestBackup(t *testing.T) {
	need.Time(t)
	t.Parallel()
	whole, h := lived(t, rand.New(rand.NewPCG(2, 2)), true)
	b := openBadger(t, whole)
	last := mustPut(t, b, persistence.Write{Key: "task/soon", Value: []byte("1"), Expires: time.Now().Add(time.Hour)})
	h.now["task/soon"] = "1"
	file := filepath.Join(t.TempDir(), "backup")
	if _, err := persistence.BackupBadger(whole, file); !errors.Is(err, persistence.ErrInUse) {
		t.Errorf("of a store in use: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := persistence.BackupBadger(whole, file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := persistence.BackupBadger(whole, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		bad := bytes.Clone(data)
		if i%2 == 0 {
			bad[i*len(bad)/200] ^= 1
		} else {
			bad = bad[:i*len(bad)/200]
		}
		broken := filepath.Join(t.TempDir(), "broken")
		if err := os.WriteFile(broken, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := persistence.RestoreBadger(whole, broken, zerolog.Nop()); !errors.Is(err, persistence.ErrNoBackup) {
			t.Fatalf("changed at %d of 200: %v", i, err)
		}
	}
	dir := folder(t)
	for range 2 { // into nothing, and over another
		got, aside, err := persistence.RestoreBadger(dir, file, zerolog.Nop())
		if err != nil || !maps.Equal(got, n) {
			t.Fatalf("%v, %v; want %v", got, err, n)
		}
		b = openBadger(t, dir)
		if got := values(t, b); !maps.Equal(got, h.now) {
			t.Errorf("%d records, want %d", len(got), len(h.now))
		}
		if r, err := b.Get(ctx, "task/soon"); err != nil || r.Expires.IsZero() {
			t.Errorf("%+v, %v", r, err)
		}
		if rev := mustPut(t, b, persistence.Write{Key: "task/new"}); rev <= last {
			t.Errorf("revision %d after %d", rev, last)
		}
		b.Close()
		_ = aside
	}
}
