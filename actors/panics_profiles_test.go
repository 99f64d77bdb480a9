package actors_test

import (
	"context"
	"time"

	"troupe/actors/api"
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
