package actors_test

import (
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestOnADisk lets a node die and come back on the store and the files that the
// service uses, in real time.
func TestOnADisk(t *testing.T) {
	store, err := persistence.OpenBadger(t.TempDir(), persistence.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	files, err := persistence.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := testkit.New(t, testkit.Options{Workers: 2, Store: store, Files: files})
	id := reserve(k, anna)
	var all []*api.Started
	for i := range 20 {
		all = append(all, k.StartAsync(bert, testkit.Task(testkit.Waiting(time.Minute)), lasting(time.Duration(i)*time.Millisecond)))
	}
	first := k.WantEnd(k.Send(with("k", "d", bert, testkit.Waiting(time.Minute)), quick), engine.EndCompleted)
	long := k.StartAsync(bert, testkit.Task(testkit.Waiting(time.Minute)), lasting(time.Minute))
	for range 2 {
		k.Crash()
		k.Boot()
		for _, s := range all {
			if p := k.WantPoll(bert, s.TaskID, 0, api.TaskComplete); p.Executed.Outcome == nil {
				t.Errorf("%s has no outcome", s.TaskID)
			}
		}
		k.WantPoll(bert, long.TaskID, 0, api.TaskFailed)
		same(k, k.Send(with("k", "d", bert), quick), first)
		if x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted); !x.Outcome.Restored {
			t.Error("the session was not restored")
		}
	}
}

// BenchmarkAsyncOnADisk is the start of an asynchronous task, synced, and
// BenchmarkSessionOnADisk a request of a session.
func BenchmarkAsyncOnADisk(b *testing.B) {
	k := onADisk(b)
	for b.Loop() {
		k.StartAsync(anna, testkit.Task(testkit.Waiting(time.Minute)), quick)
	}
}

func BenchmarkSessionOnADisk(b *testing.B) {
	k := onADisk(b)
	id := reserve(k, anna)
	for b.Loop() {
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
	}
}

func onADisk(b *testing.B) *testkit.Kit {
	store, err := persistence.OpenBadger(b.TempDir(), persistence.Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	return testkit.New(b, testkit.Options{Workers: 8, Store: store})
}
