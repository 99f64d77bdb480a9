package persistence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/persistence"
	"troupe/testkit/wait"
)

// tablesTake is how many bytes the tables of a store take.
func tablesTake(t *testing.T, dir string) (n int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n
}

// TestSpaceComesBackAtRest: a running store that had many records gives their space back when
// little is written, while that little goes on, and keeps the others. A store that was left in
// disorder does so after its next start.
//
// Promise: A running store gives the space of removed records back when little is written (docs/operations.md#the-data-folder).
func TestSpaceComesBackAtRest(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	open := func() *persistence.Badger {
		t.Helper()
		b, err := persistence.OpenBadger(dir, persistence.Options{SyncEvery: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	fill := func(b *persistence.Badger, from int) {
		t.Helper()
		for i := from; i < from+1500; i++ {
			key := fmt.Sprintf("task/%05d", i)
			if _, err := b.Put(ctx, persistence.Write{Key: key, Value: make([]byte, 30<<10)}); err != nil {
				t.Fatal(err)
			}
			if i%300 == 0 {
				continue
			}
			if err := b.Delete(ctx, key, nil, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	rests := func(b *persistence.Badger, want int) {
		t.Helper()
		n := 0
		wait.Until(t, "the space comes back", func() bool {
			n++
			if _, err := b.Put(ctx, persistence.Write{Key: "count/tasks", Value: fmt.Append(nil, n)}); err != nil {
				t.Fatal(err)
			}
			return tablesTake(t, dir) < 2<<20
		})
		if kept, err := b.List(ctx, "task/"); err != nil || len(kept) != want {
			t.Errorf("%d records, %v: want %d", len(kept), err, want)
		}
	}
	b := open()
	from := 0
	for tablesTake(t, dir) < 4<<20 { // on a busy machine the store comes to rest between the writes, too
		if from >= 5*1500 {
			t.Fatalf("after %d records the tables take only %d bytes", from, tablesTake(t, dir))
		}
		fill(b, from)
		from += 1500
	}
	rests(b, from/300)
	fill(b, from) // and once more
	rests(b, from/300+5)
	fill(b, from+1500)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open()
	rests(b, from/300+10)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
