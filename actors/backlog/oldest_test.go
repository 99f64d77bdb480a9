package backlog

import (
	"testing"
	"time"

	"troupe/engine"
	"troupe/persistence/clock"
)

// TestOldest: since when the task is due that waits longest, in all lanes, also for one that
// was put back. An account that has come to a limit does not count.
func TestOldest(t *testing.T) {
	b, now := NewBook(nil), time.UnixMilli(1_795_000_000_000)
	var order Clock
	add := func(account string, priority int, after time.Duration, task string) Place {
		p := Place{LaneFor(account, &engine.Queue{Priority: priority}), order.Order(now, now.Add(after))}
		b.Adding(p, task, 1)
		b.Added(p, task, 1, 1)
		return p
	}
	want := func(what string, at time.Time, after time.Duration) {
		t.Helper()
		if got := b.Oldest(at); !got.Equal(now.Add(after)) {
			t.Errorf("%s: %v, want %v", what, got.Sub(now), after)
		}
	}
	if got := b.Oldest(now); !got.IsZero() {
		t.Errorf("nothing waits: %v", got)
	}
	add("anna", 5, time.Hour, "t1")
	want("nothing is due", now, time.Hour)
	add("anna", 9, 2*time.Second, "t2")
	add("anna", 1, time.Second, "t3")
	add("bert", 5, 3*time.Second, "t4")
	later := now.Add(time.Minute)
	want("of the lowest priority", later, time.Second)
	_, first, _ := b.Next(later)
	var wall *clock.Clock
	b.PutBack(first, wall.Stored(later.Add(time.Hour)))
	want("one was put back", later, time.Second)
	b.Pause("anna", wall.Stored(later.Add(time.Hour)), later)
	want("an account has come to its limit", later, 3*time.Second)
	want("it may go on", later.Add(time.Hour), time.Second)
}
