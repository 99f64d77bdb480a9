package engine

import (
	"context"
	"testing"
	"time"
)

// TestConfigOfAnOpenedSession: what opens a session without actions says holds for its tasks,
// and for nobody after it.
func TestConfigOfAnOpenedSession(t *testing.T) {
	own, other, asked := elsewhere(t)
	in := newInstance(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	task, err := ParseSession([]byte(`{"config":{"sites":["127.0.0.1"],"locale":"de-DE","device":{"width":390,"height":844}}}`), nil)
	if err != nil || !task.SetsUp() || task.Counts() {
		t.Fatalf("read as %+v (%v)", task, err)
	}
	if o := in.Play(ctx, task, TaskEnv{}); o.End != EndCompleted || len(o.Failures) > 0 {
		t.Fatalf("opened: %s %v", o.End, o.Failures)
	}
	o := play(t, in, `{"actions":[{"open":"`+own+`/"},{"evaluate":"return navigator.language + innerWidth"}]}`, TaskEnv{})
	if string(o.Data) != `"de-DE390"` {
		t.Errorf("a task in it found %s (%v)", o.Data, o.Failures)
	}
	o = play(t, in, `{"actions":[{"open":"`+other+`/"}]}`, TaskEnv{})
	if o.End != EndStopped || o.Failures[0].Code != CodeSiteNotAllowed || asked.Load() != 0 {
		t.Errorf("a task that leaves its sites: %s %v", o.End, o.Failures)
	}
	// One that was opened and not used is cleaned up after all the same.
	unused := newInstance(t)
	unused.Play(ctx, task, TaskEnv{})
	if !unused.context().Used() {
		t.Error("a context that has sites and a locale counts as unused: the next task would have them")
	}
}
