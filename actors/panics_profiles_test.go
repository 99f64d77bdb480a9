package actors_test

import (
	"context"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// profiles lets a task of the queue wait for its profile.
func (v *testClient) profiles() {
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		v.t.Fatal(err)
	}
	w, err := persistence.NewProfiles(v.store, seal).Lock(context.Background(), anna.ID, "p", "an import")
	if err != nil {
		v.t.Fatal(err)
	}
	s := v.starts(&api.Execute{Account: anna, Task: profiled(v.t, `"p"`, "true")}, testkit.Script{})
	time.Sleep(5 * time.Second)
	w.Close()
	time.Sleep(10 * time.Second)
	if s != nil && s.Refusal == nil {
		if p := v.polls(anna, s.TaskID, time.Minute); p != nil && p.Refusal == nil && p.Status == api.TaskPending {
			v.t.Errorf("the task has not ended: %+v", p)
		}
	}
}

// sessionProfile lets a session save its profile, now and then and at its end.
func (v *testClient) sessionProfile() {
	id := v.opens(anna, testkit.On("w1"), testkit.Lasting(10*time.Minute), func(t *engine.Task) { t.Profile = &engine.Profile{Name: "p"} })
	time.Sleep(6 * time.Minute)
	v.does(anna, testkit.Continue(id))
	time.Sleep(30 * time.Minute)
}
