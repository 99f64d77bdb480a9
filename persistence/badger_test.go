package persistence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/storetest"
	"troupe/testkit/wait"
)

func TestBadger(t *testing.T) {
	storetest.Run(t, func(t *testing.T) persistence.Store { return openBadger(t, folder(t)) })
}

var ctx = context.Background()

// folder names a folder for a store, which is not there yet.
func folder(t *testing.T) string { return filepath.Join(t.TempDir(), "data", "db") }

func openBadger(t *testing.T, dir string) *persistence.Badger {
	t.Helper()
	b, err := persistence.OpenBadger(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func mustPut(t *testing.T, s persistence.Store, w persistence.Write) uint64 {
	t.Helper()
	rev, err := s.Put(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestReopenKeepsEverything(t *testing.T) {
	dir := folder(t)
	b := openBadger(t, dir)
	soon, late := time.Now().Add(2*time.Second), time.Now().Add(time.Hour)
	last := mustPut(t, b, persistence.Write{Key: "a", Value: []byte("1")})
	for _, w := range []persistence.Write{
		{Key: "b", Value: []byte("2"), Expires: late},
		{Key: "soon", Expires: soon},
		{Key: "gone"},
	} {
		last = mustPut(t, b, w)
	}
	if err := b.Delete(ctx, "gone", nil, false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Add(ctx, "n", 7, 0, late); err != nil {
		t.Fatal(err)
	}
	want, err := b.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	b = openBadger(t, dir)
	got, err := b.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if time.Now().Before(soon) && fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("after reopening:\n%v\nwant\n%v", got, want)
	}
	events, err := b.Watch(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if rev := mustPut(t, b, persistence.Write{Key: "a"}); rev <= last+2 {
		t.Fatalf("revision %d after %d", rev, last+2)
	}
	if time.Now().Before(soon.Add(-time.Second)) { // else the machine is too slow to tell
		for timeout := time.After(wait.Hang); ; {
			select {
			case e := <-events:
				if e.Key != "soon" {
					continue
				}
				if !e.Deleted || time.Now().Before(soon) {
					t.Fatalf("got %+v at %v, want the expiry at %v", e, time.Now(), soon)
				}
			case <-timeout:
				t.Fatal("a record written before the reopening does not expire")
			}
			break
		}
	}
	if total, _, err := b.Add(ctx, "n", 1, 0, late); err != nil || total != 8 {
		t.Fatalf("counter is %d, %v; want 8", total, err)
	}
}

// More than fits into one transaction of Badger.
func TestManyLargeWritesAtOnce(t *testing.T) {
	b := openBadger(t, folder(t))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			value := bytes.Repeat([]byte{byte(i)}, 300<<10)
			if _, err := b.Put(ctx, persistence.Write{Key: fmt.Sprint(i), Value: value, Durable: i%2 == 0}); err != nil {
				t.Errorf("Put %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		if r, err := b.Get(ctx, fmt.Sprint(i)); err != nil || len(r.Value) != 300<<10 || r.Value[0] != byte(i) {
			t.Errorf("record %d: %d bytes, %v", i, len(r.Value), err)
		}
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	dir := folder(t)
	first := openBadger(t, dir)
	mustPut(t, first, persistence.Write{Key: "k"})
	_, err := persistence.OpenBadger(dir, persistence.Options{})
	if !errors.Is(err, persistence.ErrInUse) {
		t.Fatalf("second open: %v", err)
	}
	if _, err := first.Get(ctx, "k"); err != nil {
		t.Fatalf("the first store after a second open: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openBadger(t, dir)
}

func TestOnlyTheOwnerCanLook(t *testing.T) {
	dir := folder(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	openBadger(t, dir)
	err := filepath.WalkDir(filepath.Dir(dir), func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == filepath.Dir(dir) {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if e.IsDir() { // what is in a folder that nobody can enter is safe
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFaultsOfTheMachineAreNoDamage(t *testing.T) {
	dir := folder(t)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := persistence.OpenBadger(dir, persistence.Options{})
	if err == nil {
		b.Close()
		t.Fatal("a file was opened as a folder")
	}
	if text, _ := os.ReadFile(dir); string(text) != "a file" {
		t.Fatalf("the file was replaced; the error was %v", err)
	}

	dir = filled(t)
	odd := filepath.Join(dir, "00099.mem") // a log that cannot be opened, as when descriptors run out
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := persistence.OpenBadger(dir, persistence.Options{}); err == nil {
		b.Close()
		t.Fatal("opened with a folder for a log")
	}
	if err := os.Remove(odd); err != nil {
		t.Fatalf("the store was moved: %v", err)
	}
	again := openBadger(t, dir)
	if list, err := again.List(ctx, ""); len(list) != 500 || err != nil {
		t.Fatalf("after the fault was gone: %d records, %v", len(list), err)
	}
}

func TestFullDiskStopsWrites(t *testing.T) {
	dir := folder(t)
	b := openBadger(t, dir)
	mustPut(t, b, persistence.Write{Key: "k"})
	b.Close()
	b, err := persistence.OpenBadger(dir, persistence.Options{MinFree: math.MaxInt64})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, put := b.Put(ctx, persistence.Write{Key: "k", Value: []byte("2")})
	_, _, add := b.Add(ctx, "n", 1, 0, time.Time{})
	if err := b.Blocked(); !errors.Is(err, persistence.ErrFull) {
		t.Errorf("Blocked() = %v", err)
	}
	if !errors.Is(put, persistence.ErrFull) || !errors.Is(add, persistence.ErrFull) {
		t.Fatalf("Put: %v; Add: %v; want ErrFull", put, add)
	}
	if r, err := b.Get(ctx, "k"); err != nil || len(r.Value) != 0 {
		t.Fatalf("Get = %+v, %v", r, err)
	}
	if err := b.Delete(ctx, "k", nil, true); err != nil {
		t.Fatalf("deleting, which frees space: %v", err)
	}
}

func TestBadgerTalksToOurLog(t *testing.T) {
	var out bytes.Buffer
	b, err := persistence.OpenBadger(folder(t), persistence.Options{Log: zerolog.New(&out).Level(zerolog.DebugLevel)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte(`"level":"debug","from":"badger"`)) {
		t.Fatalf("the log says %q", out.String())
	}
}
