package persistence

import (
	"fmt"
	"runtime"
	"testing"

	"troupe/testkit/need"
)

// TestTablesLeaveNoMemory: while many large records are written, nothing stays in memory of what
// tables were made in, and large records are not copied there.
func TestTablesLeaveNoMemory(t *testing.T) {
	need.NoRace(t) // with which there is more in memory
	b, err := OpenBadger(t.TempDir()+"/store", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	first, most := live(), int64(0)
	value := make([]byte, 900<<10)
	for i := range 96 {
		if _, err := b.Put(t.Context(), Write{Key: fmt.Sprintf("large/%03d", i), Value: value}); err != nil {
			t.Fatal(err)
		}
		if i%8 == 7 {
			most = max(most, live()-first)
		}
	}
	const enough = 130 << 20 // records that wait for their tables, and what a few tables are made in
	if most > enough {
		t.Errorf("%d MiB are in memory while records of 900 KiB are written, want at most %d", most>>20, enough>>20)
	}
}
