package cluster

import (
	"testing"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// TestATaskBeginsWhereItWasSentLast: and nowhere once it was taken back. What had
// begun is not taken back.
func TestATaskBeginsWhereItWasSentLast(t *testing.T) {
	var c Router
	m := &api.Execute{TaskID: "task_1", Task: &engine.Task{}}
	one := &inflightRequest{}
	c.inflight.begin(m.TaskID, one)
	may := func(id uint64) bool { return c.inflight.confirmStart(&link.StartQuery{TaskID: m.TaskID, StartID: id}) }

	first := one.markSent(&c, m)
	if !one.withdraw() || may(first) {
		t.Error("a task that was taken back begins")
	}
	second := one.markSent(&c, m)
	if second == first || may(first) {
		t.Error("a task begins where it was sent before")
	}
	if !may(second) || one.withdraw() {
		t.Error("a task that has begun was taken back")
	}
	if may(0) {
		t.Error("a question that names no order is answered with yes")
	}
	c.inflight.end(m.TaskID, one)
	if may(second) {
		t.Error("a task begins that nobody waits for")
	}

	for what, m := range map[string]*api.Execute{
		"a key":     {Task: &engine.Task{}, Idempotency: api.Idempotency{Key: "k"}},
		"async":     {Task: &engine.Task{Async: true}},
		"a session": {Task: &engine.Task{Session: &engine.Session{ID: "s"}}},
		"override":  {Task: &engine.Task{Session: &engine.Session{Override: true}}},
	} {
		if one := (&inflightRequest{}); one.markSent(&c, m) != 0 || one.withdraw() {
			t.Errorf("%s: it is taken for one that asks before it begins", what)
		}
	}
	if one := (&inflightRequest{}); one.markSent(&c, &api.Execute{Task: &engine.Task{Session: &engine.Session{Preserve: true}}}) == 0 {
		t.Error("a new session does not ask before it begins")
	}
}
