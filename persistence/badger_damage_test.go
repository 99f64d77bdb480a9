package persistence_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/persistence"
)

// filled makes a store with a table on the disk, and closes it.
func filled(t *testing.T) string {
	t.Helper()
	dir := folder(t)
	b := openBadger(t, dir)
	for i := range 500 {
		mustPut(t, b, persistence.Write{Key: fmt.Sprintf("k%d", i), Value: []byte(strings.Repeat("v", 100))})
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func find(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in the store: %v", pattern, err)
	}
	return found[0]
}

// contents are a folder's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(b)
	}
	return all
}

func edit(t *testing.T, name string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, f(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsRefused: a damaged store is not opened, however often that is tried,
// and not changed. Set aside, it makes room for an empty one.
//
// Promise: A damaged store is not opened (docs/operations.md#a-damaged-store).
func TestDamageIsRefused(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"table cut off": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "*.sst"), func(b []byte) []byte { return b[:len(b)/2] })
		},
		"table empty": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "*.sst"), func(b []byte) []byte { return nil })
		},
		"table's end overwritten": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "*.sst"), func(b []byte) []byte { copy(b[len(b)-64:], strings.Repeat("\xff", 64)); return b })
		},
		"bytes flipped in a table": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "*.sst"), func(b []byte) []byte {
				for i := range 20 {
					b[len(b)/4+i] ^= 0xff
				}
				return b
			})
		},
		"table missing":       func(t *testing.T, dir string) { os.Remove(find(t, dir, "*.sst")) },
		"list of tables gone": func(t *testing.T, dir string) { os.Remove(find(t, dir, "MANIFEST")) },
		"list of tables damaged": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "MANIFEST"), func(b []byte) []byte { b[2] ^= 0xff; return b })
		},
		"list of tables cut off": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "MANIFEST"), func(b []byte) []byte { return b[:len(b)-3] })
		},
		"list of tables without its last part": func(t *testing.T, dir string) {
			edit(t, find(t, dir, "MANIFEST"), func(b []byte) []byte { return b[:16] })
		},
		"everything gone": func(t *testing.T, dir string) {
			all, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, name := range all {
				os.Remove(name)
			}
		},
		"folder gone": func(t *testing.T, dir string) { os.RemoveAll(dir) },
		"opening ended the process again and again": func(t *testing.T, dir string) {
			if err := os.WriteFile(dir+".opening", []byte("3"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filled(t)
			harm(t, dir)
			before := contents(t, dir)
			for range 2 {
				b, err := persistence.OpenBadger(dir, persistence.Options{})
				if !errors.Is(err, persistence.ErrDamaged) {
					if err == nil {
						b.Close()
					}
					t.Fatalf("opened: %v", err)
				}
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Fatalf("the damaged store was changed: %d files, and %d before", len(after), len(before))
			}
			moved, err := persistence.SetAside(dir)
			if err != nil {
				t.Fatal(err)
			}
			if moved != "" {
				if after := contents(t, moved); !maps.Equal(before, after) {
					t.Fatal("what was set aside was changed")
				}
			}
			b := openBadger(t, dir)
			if list, err := b.List(ctx, ""); err != nil || len(list) != 0 {
				t.Fatalf("the new store has %d records, %v", len(list), err)
			}
			mustPut(t, b, persistence.Write{Key: "k", Durable: true})
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b = openBadger(t, dir)
			if _, err := b.Get(ctx, "k"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(dir + ".opening"); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the marker is still there: %v", err)
			}
		})
	}
}

// What a killed process leaves behind is no damage.
func TestLeftoversAreNoDamage(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, dir string){
		"killed while opening": func(t *testing.T, dir string) {
			if err := os.WriteFile(dir+".opening", []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"killed while writing the marker": func(t *testing.T, dir string) {
			if err := os.WriteFile(dir+".opening", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"killed while making a log": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "00077.mem"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"killed while making the log of values": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "000077.vlog"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"killed while writing a table": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "009999.sst"), make([]byte, 5000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			leave(t, dir)
			b := openBadger(t, dir)
			if list, err := b.List(ctx, ""); err != nil || len(list) != 500 {
				t.Fatalf("%d records, %v; want 500", len(list), err)
			}
		})
	}
}

// TestCheckChangesNothing: the check tells a whole store from one that is used,
// damaged, or ended the process each time, and leaves it as it is.
func TestCheckChangesNothing(t *testing.T) {
	dir := filled(t)
	if err := persistence.CheckBadger(dir); err != nil {
		t.Errorf("a whole store: %v", err)
	}
	b := openBadger(t, dir)
	if err := persistence.CheckBadger(dir); !errors.Is(err, persistence.ErrInUse) {
		t.Errorf("one that is open: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+".opening", []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := persistence.CheckBadger(dir); err == nil || !strings.Contains(err.Error(), "3 times") {
		t.Errorf("one that ended the process: %v", err)
	}
	if err := os.Remove(dir + ".opening"); err != nil {
		t.Fatal(err)
	}
	table := find(t, dir, "*.sst")
	edit(t, table, func(b []byte) []byte { return b[:len(b)-1] })
	for range 2 {
		if err := persistence.CheckBadger(dir); err == nil || !strings.Contains(err.Error(), "table") {
			t.Errorf("one that is cut off: %v", err)
		}
	}
	if _, err := os.Stat(table); err != nil {
		t.Error(err)
	}
}
