package persistence

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// Keys of one deadline are looked at once, when it has passed, and soon after that.
func TestSlotsGiveEachKeyOnce(t *testing.T) {
	var s schedule
	begin := time.Now()
	const keys = 5000
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * 20 * time.Millisecond) }
	for i := range keys {
		s.add(deadline{at: stamp(at(i)), key: fmt.Sprintf("outcome/%d", i), once: true})
	}
	seen := map[string]bool{}
	for now := begin; now.Before(at(keys).Add(2 * slotWidth)); now = now.Add(s.wait(now) + time.Nanosecond) {
		for all := s.take(now, 100); len(all) > 0; all = s.take(now, 100) {
			for _, r := range all {
				var i int
				if _, err := fmt.Sscanf(r.key, "outcome/%d", &i); err != nil || seen[r.key] {
					t.Fatalf("%q came, or again: %v", r.key, err)
				}
				if seen[r.key] = true; now.Before(at(i)) || now.After(at(i).Add(slotWidth+time.Second)) {
					t.Fatalf("%s came after %s, and is due after %s", r.key, now.Sub(begin), at(i).Sub(begin))
				}
			}
		}
	}
	if len(seen) != keys || len(s.slots.keys) != 0 || len(s.heap) != 0 {
		t.Errorf("%d keys came; left are %d slots and %d deadlines", len(seen), len(s.slots.keys), len(s.heap))
	}
}

// What is known of records counts them as if the store had looked.
func TestKnownRecordsAreCounted(t *testing.T) {
	b, err := OpenBadger(filepath.Join(t.TempDir(), "db"), Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	apply := func(all ...Change) {
		t.Helper()
		if err := Apply(context.Background(), b, all...); err != nil {
			t.Fatal(err)
		}
	}
	put := func(key string, known Known) Change { return Change{Write: Write{Key: key, Known: known}} }
	apply(put("task/a", Absent), put("task/b", Absent), put("task/a", Present), put("task/b", Unknown))
	if n := b.state.state.Records["task"]; n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	apply(Change{Write: Write{Key: "task/a", Known: Present}, Delete: true})
	if n := b.state.state.Records["task"]; n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}
