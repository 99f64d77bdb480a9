package backlog

import (
	"testing"
	"time"

	"troupe/engine"
	"troupe/persistence/clock"
)

// TestBytesComeBack: a task that comes back counts with all of its bytes again, whether it was
// taken here or ran before this node had the queue.
func TestBytesComeBack(t *testing.T) {
	b, now := NewBook(nil), time.UnixMilli(1_795_000_000_000)
	var order Clock
	place := func() Place { return Place{LaneFor("anna", &engine.Queue{}), order.Order(now, now)} }
	p := place()
	b.Adding(p, "taken", 90)
	b.Added(p, "taken", 100, 90)
	if _, task, ok := b.Next(now.Add(time.Second)); !ok || task != "taken" {
		t.Fatal(task, ok)
	}
	b.Resume(place(), "ran", 30)
	if n, bytes := b.Waiting("anna"); n != 0 || bytes != 0 {
		t.Errorf("while both run, %d wait with %d bytes", n, bytes)
	}
	for _, task := range []string{"taken", "ran"} {
		b.PutBack(task, clock.Due{})
	}
	if n, bytes := b.Waiting("anna"); n != 2 || bytes != 130 {
		t.Errorf("when both are back, %d wait with %d bytes", n, bytes)
	}
}
