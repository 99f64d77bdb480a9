package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// with is a request with a key and a digest.
func with(key, digest string, a api.Account, opts ...testkit.Option) *api.Execute {
	return &api.Execute{
		Account: a, Task: testkit.Task(opts...), Idempotency: api.Idempotency{Key: key, Digest: []byte(digest)},
	}
}

func TestKeys(t *testing.T) {
	for _, r := range keyRows {
		t.Run(r.name, func(t *testing.T) { testkit.Run(t, testkit.Options{Workers: 2}, r.drive) })
	}
}

// same fails the test unless the request gets the answer of another.
func same(k *testkit.Kit, r *testkit.Request, first *api.Executed) {
	k.T.Helper()
	x := r.Answer()
	if x.Refusal != nil {
		k.T.Fatalf("refused: %v", x.Refusal)
	}
	a, _ := json.Marshal(first)
	b, _ := json.Marshal(x)
	if !bytes.Equal(a, b) {
		k.T.Fatalf("answer\n%s, want that of the first:\n%s", b, a)
	}
}

func played(k *testkit.Kit, want int) {
	k.T.Helper()
	k.AwaitIdle()
	if n := len(k.Engine.Plays()); n != want {
		k.T.Fatalf("%d tasks were played, want %d", n, want)
	}
}

var keyRows = []asyncRow{
	{"the same request gets the first answer for a day, also after a restart", func(t *testing.T, k *testkit.Kit) {
		first := k.WantEnd(k.Send(with("k", "d", anna), second), engine.EndCompleted)
		again := func() { same(k, k.Send(with("k", "d", anna), quick), first) }
		again()
		k.Restart()
		again()
		k.Crash()
		k.Boot()
		again()
		time.Sleep(24*time.Hour - 2*time.Second)
		again()
		played(k, 1)
		time.Sleep(2 * time.Second)
		k.WantEnd(k.Send(with("k", "d", anna), quick), engine.EndCompleted)
		played(k, 2)
	}},
	{"a failure is an answer, too", func(_ *testing.T, k *testkit.Kit) {
		first := k.WantEnd(k.Send(with("k", "d", anna), testkit.Script{Crash: true}), engine.EndCrashed)
		same(k, k.Send(with("k", "d", anna), quick), first)
	}},
	{"a second request waits for the answer of the first", func(_ *testing.T, k *testkit.Kit) {
		r := k.Send(with("k", "d", anna), lasting(10*time.Second))
		time.Sleep(time.Second)
		others := []*testkit.Request{k.Send(with("k", "d", anna), quick), k.Send(with("k", "d", anna), quick)}
		first := k.WantEnd(r, engine.EndCompleted)
		for _, o := range others {
			same(k, o, first)
		}
		played(k, 1)
	}},
	{"other content is refused, while the first runs and later", func(_ *testing.T, k *testkit.Kit) {
		r := k.Send(with("k", "d", anna), second)
		k.AwaitIdle()
		for range 2 {
			k.WantRefused(k.Send(with("k", "e", anna), quick), engine.CodeIdempotencyMismatch)
			x := k.SendAsync(with("k", "d", anna), quick)
			if x.Refusal == nil || x.Refusal.Code != engine.CodeIdempotencyMismatch {
				k.T.Fatalf("%+v", x)
			}
			k.WantEnd(r, engine.EndCompleted)
		}
		played(k, 1)
	}},
	{"keys of other accounts are others, and so are other keys", func(_ *testing.T, k *testkit.Kit) {
		for _, x := range []*api.Execute{with("k", "d", anna), with("k", "e", bert), with("l", "e", anna)} {
			k.WantEnd(k.Send(x, quick), engine.EndCompleted)
		}
		played(k, 3)
	}},
	{"a refusal is not kept", func(_ *testing.T, k *testkit.Kit) {
		hold := []*testkit.Request{k.Start(bert, testkit.Task(), second), k.Start(bert, testkit.Task(), second)}
		k.AwaitIdle()
		k.WantRefused(k.Send(with("k", "d", anna), quick), engine.CodeNoWorkerAvailable)
		x := k.SendAsync(with("l", "d", anna), quick)
		if x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
			k.T.Fatalf("%+v", x)
		}
		for _, r := range hold {
			k.WantEnd(r, engine.EndCompleted)
		}
		k.WantEnd(k.Send(with("k", "e", anna), quick), engine.EndCompleted)
		if x := k.SendAsync(with("l", "e", anna), quick); x.Refusal != nil {
			k.T.Fatalf("%+v", x)
		}
	}},
	{"a client that goes away does not end the task", func(_ *testing.T, k *testkit.Kit) {
		r := k.Send(with("k", "d", anna, testkit.Preserve()), lasting(10*time.Second))
		k.AwaitIdle()
		r.Leave()
		first := k.WantEnd(r, engine.EndCompleted)
		same(k, k.Send(with("k", "d", anna, testkit.Preserve()), quick), first)
		k.WantState(first.WorkerID, api.Reserved)
	}},
	{"it counts once", func(t *testing.T, k *testkit.Kit) {
		for range 3 {
			k.WantEnd(k.Send(with("k", "d", anna), quick), engine.EndCompleted)
		}
		if n, err := persistence.NewUsage(k.Store).Read(context.Background(), "anna", time.Now()); n != 1 || err != nil {
			t.Fatalf("%d tasks counted, %v", n, err)
		}
	}},
	{"a task that ran when its node died is answered as interrupted, not played again", func(_ *testing.T, k *testkit.Kit) {
		k.Send(with("k", "d", anna), lasting(time.Minute))
		k.AwaitIdle()
		k.Crash()
		for range 2 {
			k.Boot()
			if x := k.WantEnd(k.Send(with("k", "d", anna), quick), engine.EndInterrupted); x.WorkerID == "" {
				k.T.Fatalf("%+v", x)
			}
			k.WantRefused(k.Send(with("k", "e", anna), quick), engine.CodeIdempotencyMismatch)
			k.Crash()
		}
		k.Boot()
		played(k, 1)
	}},
	{"a drain waits for the answer to be on disk", func(_ *testing.T, k *testkit.Kit) {
		r := k.Send(with("k", "d", anna), lasting(time.Minute))
		k.AwaitIdle()
		k.Drain(time.Second)
		k.Crash()
		first := k.WantEnd(r, engine.EndInterrupted)
		k.Boot()
		same(k, k.Send(with("k", "d", anna), quick), first)
	}},
	{"a large answer is kept", func(_ *testing.T, k *testkit.Kit) {
		data, _ := json.Marshal(string(bytes.Repeat([]byte{'x'}, 3<<20)))
		script := testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: data}}
		first := k.WantEnd(k.Send(with("k", "d", anna), script), engine.EndCompleted)
		k.Restart()
		same(k, k.Send(with("k", "d", anna), quick), first)
	}},
	{"an asynchronous task is started once", func(t *testing.T, k *testkit.Kit) {
		first := k.SendAsync(with("k", "d", anna, testkit.Preserve()), lasting(10*time.Second))
		again := func() {
			t.Helper()
			if x := k.SendAsync(with("k", "d", anna, testkit.Preserve()), quick); *x != *first {
				t.Fatalf("%+v, want %+v", x, first)
			}
		}
		again()
		k.WantPoll(anna, first.TaskID, time.Minute, api.TaskComplete)
		again()
		k.Crash()
		k.Boot()
		again()
		k.WantPoll(anna, first.TaskID, 0, api.TaskComplete)
		played(k, 1)
	}},
	{"an asynchronous task that ran when its node died is not started again", func(t *testing.T, k *testkit.Kit) {
		first := k.SendAsync(with("k", "d", anna), lasting(time.Minute))
		k.Crash()
		k.Boot()
		if x := k.SendAsync(with("k", "d", anna), quick); *x != *first {
			t.Fatalf("%+v, want %+v", x, first)
		}
		k.WantPoll(anna, first.TaskID, 0, api.TaskFailed)
		played(k, 1)
	}},
}

func TestKeyIsOnDiskBeforeItsTaskBegins(t *testing.T) {
	store := &slowStore{Store: persistence.NewMemory()}
	store.takes.Store(int64(time.Second))
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		k.WantEnd(k.Send(with("k", "d", anna), second), engine.EndCompleted)
		if p := k.Engine.Plays()[0]; p.Began.Sub(began) != time.Second || time.Since(began) != 3*time.Second {
			t.Errorf("played after %v, answered after %v", p.Began.Sub(began), time.Since(began))
		}
		store.fail("key/")
		k.WantRefused(k.Send(with("l", "d", anna), second), engine.CodeStorageFull)
		played(k, 1)
	})
}
