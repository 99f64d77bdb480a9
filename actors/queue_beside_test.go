package actors

import (
	"testing"

	"troupe/actors/backlog"
)

// While clients wait for starts, few tasks are about to begin or being ended. Those that are
// being played do not count.
func TestStartsGoBeforeTurns(t *testing.T) {
	u := newQueue(&nodeParts{}, backlog.NewBook(nil))
	u.room, u.busy, u.beginning = 64, 40, 4
	for i := range 40 + maxBeside - 4 {
		u.live[string(rune('a'+i))] = &queuedTask{}
	}
	if !u.free() {
		t.Error("there is no room while nobody waits")
	}
	u.adding[&entryAdded{}] = true
	if u.free() {
		t.Error("a turn goes before starts")
	}
	u.beginning--
	if !u.free() {
		t.Error("starts hold the queue up though few tasks begin or end")
	}
}
