package persistence_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestCompactionThatCannotMakeItsTables: a compaction on a disk that can have no more files
// is an error, and what was in its tables is still there: now, and when the database is
// opened again. Badger as it is released takes the tables for made, and removes the others.
//
// Promise: A compaction of the store that cannot make its files loses no record (docs/reliability.md#other-faults).
func TestCompactionThatCannotMakeItsTables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=200m,nr_inodes=100"); err != nil {
		t.Skipf("no disk of its own can be made here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	options := badger.DefaultOptions(filepath.Join(dir, "db")).WithLoggingLevel(badger.ERROR).WithNumCompactors(0).WithNumLevelZeroTables(1).
		WithMemTableSize(1 << 20).WithBaseTableSize(256 << 10).WithValueLogFileSize(2 << 20).WithBlockCacheSize(0).WithCompression(0).WithIndexCacheSize(4 << 20).WithValueThreshold(64 << 10)
	open := func() *badger.DB {
		t.Helper()
		db, err := badger.Open(options)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	want := map[string]string{}
	whole := func(when string, db *badger.DB) {
		t.Helper()
		missing := 0
		err := db.View(func(txn *badger.Txn) error {
			for k, v := range want {
				item, err := txn.Get([]byte(k))
				if err == nil {
					err = item.Value(func(b []byte) error {
						if string(b) != v {
							missing++
						}
						return nil
					})
				}
				if err != nil {
					missing++
				}
			}
			return nil
		})
		if err != nil || missing > 0 {
			t.Errorf("%s %d of %d records are missing: %v", when, missing, len(want), err)
		}
	}

	for range 4 { // each makes a table of the first level when it is closed
		db := open()
		for range 100 {
			k, v := fmt.Sprintf("%08x", rand.Uint32()), make([]byte, 4<<10)
			for i := range v {
				v[i] = byte(rand.Uint32())
			}
			want[k] = string(v)
			if err := db.Update(func(txn *badger.Txn) error { return txn.Set([]byte(k), v) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db := open()
	before := len(db.Tables())
	takeInodes(t, dir)
	if err := db.Flatten(1); err == nil {
		t.Errorf("%d tables were made %d without a file for any", before, len(db.Tables()))
	}
	whole("at once", db)
	empty(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	whole("opened again", db)
	if err := db.Flatten(1); err != nil {
		t.Errorf("with room again: %v", err)
	}
	whole("compacted with room", db)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
