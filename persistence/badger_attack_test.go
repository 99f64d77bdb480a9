package persistence_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/testkit/need"
)

// onDisk is how many bytes a folder takes.
func onDisk(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what the store removes meanwhile
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAttackOverwrites: who lets the store write the same records again and again, or
// records that are soon over, takes disk for what there is and not for what there was.
func TestAttackOverwrites(t *testing.T) {
	need.All(t)
	t.Parallel()
	for name, key := range map[string]func(i int) (string, time.Time){
		"the same record":             func(int) (string, time.Time) { return "a", time.Time{} },
		"records that are soon over":  func(i int) (string, time.Time) { return fmt.Sprint("a/", i), time.Now().Add(time.Second) },
		"records that are removed":    func(i int) (string, time.Time) { return fmt.Sprint("a/", i%50), time.Time{} },
		"a record with many versions": func(i int) (string, time.Time) { return "a", time.Now().Add(time.Duration(i) * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			b, err := persistence.OpenBadger(dir, persistence.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			before := onDisk(t, dir)
			value, written, most := make([]byte, 128<<10), 0, int64(0)
			for i := range 3000 {
				k, expires := key(i)
				// Values that do not compress.
				copy(value, bytes.Repeat(pendingCount(i), len(value)/sha256.Size))
				if _, err := b.Put(t.Context(), persistence.Write{Key: k, Value: value, Expires: expires}); err != nil {
					t.Fatal(err)
				}
				if name == "records that are removed" {
					if err := b.Delete(t.Context(), k, nil, false); err != nil {
						t.Fatal(err)
					}
				}
				written += len(value)
				if i%100 == 0 {
					most = max(most, onDisk(t, dir)-before)
				}
			}
			t.Logf("%d MiB were written, the disk held %d MiB at most", written>>20, most>>20)
			if most > int64(written)/2 {
				t.Errorf("%d MiB were written, and the disk held %d MiB", written>>20, most>>20)
			}
		})
	}
}

func pendingCount(i int) []byte {
	s := sha256.Sum256([]byte(fmt.Sprint(i)))
	return s[:]
}

// TestAttackBackups: a backup with the right sum that announces more than it has, or
// numbers that cannot be, is none, and changes nothing of the store that is there.
func TestAttackBackups(t *testing.T) {
	t.Parallel()
	number := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	endless := bytes.Repeat([]byte{0xff}, 20)
	for name, body := range map[string][]byte{
		"a long key":        number(1 << 40),
		"the longest key":   number(1<<64 - 1),
		"a number too long": endless,
		"a long value":      append(append(append(number(1), 'a'), number(0)...), number(1<<50)...),
		"no end":            append(append(append(number(1), 'a'), number(0)...), number(0)...),
		"nothing":           {},
		"many records":      bytes.Repeat(append(append(append(number(1), 'a'), number(0)...), number(0)...), 1<<17),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "backup")
			b, err := persistence.OpenBadger(dir, persistence.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Put(t.Context(), persistence.Write{Key: "k", Value: []byte("there"), Durable: true})
			if err := errors.Join(err, b.Close()); err != nil {
				t.Fatal(err)
			}
			data := append([]byte("troupe store backup 1\n"), body...)
			all := sha256.Sum256(data)
			if err := os.WriteFile(file, append(data, all[:]...), 0o600); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, _, err := persistence.RestoreBadger(dir, file, zerolog.Nop()); !errors.Is(err, persistence.ErrNoBackup) {
				t.Errorf("it is restored: %v", err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if b, err = persistence.OpenBadger(dir, persistence.Options{}); err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if r, err := b.Get(t.Context(), "k"); err != nil || string(r.Value) != "there" {
				t.Errorf("the store has %q, %v", r.Value, err)
			}
		})
	}
}
