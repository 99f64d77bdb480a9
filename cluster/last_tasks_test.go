package cluster

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// TestLastTasks: a node that leaves names what it has begun in its last seconds, and not what
// it has refused. What it does not name has not begun, as long as it was sent within them.
func TestLastTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &hostedTasks{boot: "b"}
		ends := func(id string, refused bool) {
			one, err := g.begin(&link.ForwardedExecute{Execute: api.Execute{TaskID: id}, Origin: "n2", To: "b", Try: 1})
			if err != nil {
				t.Fatal(err)
			}
			g.end(one, refused, nil)
			g.answered(one)
		}
		ends("old", false)
		time.Sleep(lastTasksWithin + time.Millisecond)
		ends("ran", false)
		ends("refused", true)
		g.close()
		l := g.last()
		if l == nil || !slices.Equal(l.Begun, []string{"ran"}) {
			t.Fatalf("it names %+v", l)
		}
		for _, c := range []struct {
			task string
			sent time.Duration
			want bool
		}{
			{"ran", 0, false}, {"refused", 0, true}, {"lost", lastTasksWithin - 1, true},
			{"lost", lastTasksWithin, false}, {"old", lastTasksWithin + time.Millisecond, false},
		} {
			if got := l.NotBegun(c.task, c.sent); got != c.want {
				t.Errorf("%s, sent %v ago, has certainly not begun: %v", c.task, c.sent, got)
			}
		}
		if (*link.LastTasks)(nil).NotBegun("lost", 0) {
			t.Error("a node that says nothing is believed")
		}
	})
	g := &hostedTasks{}
	for i := range maxLastTasks + 1 {
		g.ended = append(g.ended, endedTask{fmt.Sprint(i), time.Now()})
	}
	if l := g.last(); l != nil {
		t.Errorf("it names %d tasks", len(l.Begun))
	}
}
