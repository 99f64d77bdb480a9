package actors

import (
	"testing"
	"time"
)

// The node that leads the store takes the order of the queue at once; the others let it, but
// not for long.
func TestTheLeaderGoesFirst(t *testing.T) {
	now := time.Now()
	leads := false
	k := &queueKeeper{node: &nodeParts{cfg: Config{LeadsStore: func() bool { return leads }}}}
	for _, c := range []struct {
		after time.Duration
		leads bool
		first bool
	}{
		{0, false, false},
		{leaderFirst - 1, false, false},
		{leaderFirst - 1, true, true},
		{leaderFirst, false, true},
	} {
		leads = c.leads
		if first := k.goesFirst(now.Add(c.after)); first != c.first {
			t.Errorf("after %v, leads: %v: goes first is %v, want %v", c.after, c.leads, first, c.first)
		}
	}
	if k := (&queueKeeper{node: &nodeParts{}}); !k.goesFirst(now) {
		t.Error("where no node leads the store, nobody is waited for")
	}
}
