package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

var errNo = errors.New("no")

// Promise: A session survives a crash of its browser and a restart of the service
// (docs/api.md#sessions).
func TestDurableSessions(t *testing.T) {
	for _, r := range durableRows {
		t.Run(r.name, func(t *testing.T) {
			e := slowEngine(time.Second)
			testkit.Run(t, testkit.Options{Workers: 2, Engine: e}, r.drive)
		})
	}
}

// kept returns the keys of what is on disk of sessions.
func kept(k *testkit.Kit) []string {
	k.T.Helper()
	var keys []string
	for _, prefix := range []string{"session/", "session-state/"} {
		list, err := k.Store.List(context.Background(), prefix)
		if err != nil {
			k.T.Fatal(err)
		}
		for _, r := range list {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

// wantKept fails the test unless these sessions are on disk and no others, once
// everything that is due has happened.
func wantKept(k *testkit.Kit, ids ...string) {
	k.T.Helper()
	if !k.Await(func() bool {
		got := kept(k)
		missing := slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(strings.Join(got, " "), id) })
		return len(got) == 2*len(ids) && !missing
	}) {
		k.T.Fatalf("on disk: %v, want %v", kept(k), ids)
	}
}

// goesOn fails the test unless the session's next request sees the traces of so
// many tasks and says whether it was restored.
func goesOn(k *testkit.Kit, a api.Account, id string, n int, restored bool) {
	k.T.Helper()
	x := k.WantEnd(k.Start(a, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
	sees(k, x, n)
	if x.SessionID != id || x.Outcome.Restored != restored || len(x.Outcome.Warnings) > 0 {
		k.T.Fatalf("%+v: %+v", x, x.Outcome)
	}
}

var durableRows = []asyncRow{
	{"a session goes on after the death of its browser", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		goesOn(k, anna, id, 1, false)
		k.Engine.Kill("w1")
		k.WantState("w1", api.Offline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeWorkerOffline)
		k.Until("w1", api.Reserved)
		goesOn(k, anna, id, 2, true)
		goesOn(k, anna, id, 3, false)
	}},
	{"a session goes on after the death of its node", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w2"))
		goesOn(k, anna, id, 1, false)
		for i := range 3 {
			k.Crash()
			k.Boot()
			if w := k.Worker("w2"); w.State != api.Reserved || w.Session != id || k.Worker("w1").State != api.Online {
				k.T.Fatalf("%+v", w)
			}
			k.WantRefused(k.Start(bert, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
			goesOn(k, anna, id, 2+i, true)
		}
		wantKept(k, id)
	}},
	{"a clock that is set beyond the time that it is kept does not end it", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		goesOn(k, anna, id, 1, false)
		wantKept(k, id)
		for _, key := range kept(k) { // as the store does with what has expired
			if err := k.Store.Delete(context.Background(), key, nil, false); err != nil {
				k.T.Fatal(err)
			}
		}
		goesOn(k, anna, id, 2, false)
		wantKept(k, id)
		k.Crash()
		k.Boot()
		goesOn(k, anna, id, 3, true)
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id)), quick), engine.EndCompleted)
		wantKept(k)
	}},
	{"a clock that was set back meanwhile gives it no more time", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		wantKept(k, id)
		k.Crash()
		r, err := k.Store.Get(context.Background(), "session/"+id)
		if err != nil {
			k.T.Fatal(err)
		}
		var rec map[string]any
		if err := json.Unmarshal(r.Value, &rec); err != nil {
			k.T.Fatal(err)
		}
		for _, name := range []string{"deadline", "until", "started", "saved"} { // as written two days ahead
			at, err := time.Parse(time.RFC3339Nano, rec[name].(string))
			if err != nil {
				k.T.Fatal(err)
			}
			rec[name] = at.Add(48 * time.Hour)
		}
		r.Value, _ = json.Marshal(rec)
		if _, err := k.Store.Put(context.Background(), persistence.Write{Key: r.Key, Value: r.Value, Expires: r.Expires.Add(48 * time.Hour)}); err != nil {
			k.T.Fatal(err)
		}
		k.Boot()
		k.Crash()
		k.Boot()
		k.Until("w1", api.Reserved)
		time.Sleep(time.Duration(rec["timeout"].(float64)) + time.Second)
		k.Until("w1", api.Online)
		wantKept(k)
	}},
	{"and after a drain", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		r := k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		k.Until("w1", api.Busy)
		other := reserve(k, bert)
		k.Drain(time.Second)
		if x := k.WantEnd(r, engine.EndInterrupted); x.SessionID != id {
			k.T.Fatalf("%+v", x)
		}
		k.Restart()
		goesOn(k, anna, id, 2, true)
		goesOn(k, bert, other, 1, true)
	}},
	{"its requests are refused as offline while its worker comes back", func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		k.Crash()
		k.Engine.SetLaunchTakes(10 * time.Second)
		k.BootCold()
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeWorkerOffline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Override()), quick), engine.CodeWorkerOffline)
		r := k.Start(anna, testkit.Task(testkit.Continue(id), testkit.Waiting(time.Minute)), quick)
		if x := k.WantEnd(r, engine.EndCompleted); !x.Outcome.Restored {
			t.Fatalf("%+v", x.Outcome)
		}
	}},
	{"its timer runs on while the node is down", func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"), testkit.Lasting(10*time.Minute))
		began := time.Now()
		time.Sleep(4 * time.Minute)
		k.Crash()
		time.Sleep(4 * time.Minute)
		k.Boot()
		k.WantState("w1", api.Reserved)
		k.Until("w1", api.Online)
		if took := time.Since(began); took != 10*time.Minute {
			t.Fatalf("it ended after %v", took)
		}
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		wantKept(k)
	}},
	{"one whose time passed while the node was down has ended", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Crash()
		time.Sleep(engine.DefaultSessionTimeout)
		k.Boot()
		k.WantState("w1", api.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		wantKept(k)
		sees(k, k.Do(bert, testkit.Task(testkit.On("w1")), quick), 0)
	}},
	{"it does not run out under a task, though the node dies", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.Lasting(time.Minute))
		for range 2 {
			time.Sleep(50 * time.Second)
			k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
			time.Sleep(20 * time.Second)
			k.Crash()
			k.Boot()
			goesOn(k, anna, id, 1, true)
			k.Crash() // and goes on from what it had before the task
			k.Boot()
			goesOn(k, anna, id, 2, true)
			k.Do(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick)
			wantKept(k)
			id = reserve(k, anna, testkit.Lasting(time.Minute))
		}
	}},
	{"its data cache comes back", func(t *testing.T, k *testkit.Kit) {
		fill := testkit.Script{Do: withCache(func(c *engine.Cache) {
			c.Set("name", json.RawMessage(`"anna"`))
			c.Push("list", json.RawMessage(`1`))
		})}
		id := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), fill), engine.EndCompleted).SessionID
		k.Crash()
		k.Boot()
		k.Do(anna, testkit.Task(testkit.Continue(id)), testkit.Script{Do: withCache(func(c *engine.Cache) {
			name, _ := c.Get("name")
			c.Push("list", json.RawMessage(`2`))
			list, _ := c.Get("list")
			if string(name) != `"anna"` || string(list) != `[1,2]` {
				t.Errorf("name %s, list %s", name, list)
			}
		})})
	}},
	{"an override gives it another name, and no old one comes back", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		next := k.WantEnd(k.Start(anna, testkit.Task(testkit.Override()), quick), engine.EndCompleted).SessionID
		wantKept(k, next)
		k.Crash()
		k.Boot()
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeSessionMismatch)
		goesOn(k, anna, next, 2, true)
		// One under which the node dies: the browser's state is not lost.
		k.Start(anna, testkit.Task(testkit.Override()), lasting(time.Minute))
		k.AwaitIdle()
		k.Crash()
		k.Boot()
		sees(k, k.WantEnd(k.Start(anna, testkit.Task(testkit.Override()), quick), engine.EndCompleted), 3)
	}},
	{"a close is on disk before its answer", func(_ *testing.T, k *testkit.Kit) {
		for _, o := range []testkit.Option{testkit.Empty(), testkit.Within(time.Minute)} {
			id := reserve(k, anna, testkit.On("w1"))
			k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(id), o), quick), engine.EndCompleted)
			k.Crash()
			k.Boot()
			k.WantState("w1", api.Online)
			wantKept(k)
		}
	}},
	{"one that is opened without actions is on disk", func(_ *testing.T, k *testkit.Kit) {
		id := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve(), testkit.Empty()), quick), engine.EndCompleted).SessionID
		k.Crash()
		k.Boot()
		goesOn(k, anna, id, 0, true)
	}},
	{"one whose first task killed the browser is on disk", func(_ *testing.T, k *testkit.Kit) {
		id := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), testkit.Script{Crash: true}), engine.EndCrashed).SessionID
		k.Crash()
		k.Boot()
		goesOn(k, anna, id, 0, true)
	}},
	{"the session of an asynchronous task is on disk before the task is acknowledged", func(_ *testing.T, k *testkit.Kit) {
		s := k.StartAsync(anna, testkit.Task(testkit.Preserve(), testkit.Within(time.Hour)), lasting(time.Hour))
		time.Sleep(40 * time.Minute)
		k.Crash()
		k.Boot()
		k.WantPoll(anna, s.TaskID, 0, api.TaskFailed)
		goesOn(k, anna, s.SessionID, 0, true)
	}},
	{"one that the client left is not kept", func(_ *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), lasting(time.Minute))
		k.AwaitIdle()
		r.Leave()
		k.WantEnd(r, engine.EndCancelled)
		wantKept(k)
	}},
	{"what is kept of it cannot be read without the key", func(t *testing.T, k *testkit.Kit) {
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), quick), engine.EndCompleted)
		k.AwaitIdle()
		r, err := k.Store.Get(context.Background(), "session-state/"+x.SessionID)
		if err != nil || bytes.Contains(r.Value, []byte(x.TaskID)) || bytes.Contains(r.Value, []byte("browser")) {
			t.Fatalf("%q, %v", r.Value, err)
		}
		// Nor with another one: then the session is over, and the node starts.
		if _, err := k.Store.Put(context.Background(), persistence.Write{Key: r.Key, Value: append(r.Value, 'x')}); err != nil {
			t.Fatal(err)
		}
		k.Restart()
		k.WantState(x.WorkerID, api.Online)
		wantKept(k)
	}},
	{"a state that is not read in time is answered with a warning, and the last one stays", func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		for _, s := range []testkit.Save{{Takes: time.Hour}, {Err: errNo}} {
			k.Engine.OnSave("w1", s)
			began := time.Now()
			x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.EndCompleted)
			if took := time.Since(began); took > 2*time.Second || len(x.Outcome.Warnings) != 1 || x.SessionID != id {
				t.Fatalf("after %v: %+v", took, x.Outcome)
			}
		}
		k.Crash()
		k.Boot()
		goesOn(k, anna, id, 1, true)
	}},
	{"a browser that dies while the session is put back is started again", func(_ *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		k.Engine.DieRestoring("w1", 2)
		k.Engine.Kill("w1")
		k.WantState("w1", api.Offline)
		k.Until("w1", api.Reserved)
		goesOn(k, anna, id, 1, true)
	}},
	{"a large state goes into files, and away with the session", func(t *testing.T, k *testkit.Kit) {
		big, _ := json.Marshal(strings.Repeat("x", 1<<20))
		fill := testkit.Script{Do: withCache(func(c *engine.Cache) { c.Set("big", big) })}
		id := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), fill), engine.EndCompleted).SessionID
		k.Crash()
		k.Boot()
		k.Do(anna, testkit.Task(testkit.Continue(id)), testkit.Script{Do: withCache(func(c *engine.Cache) {
			if got, _ := c.Get("big"); !bytes.Equal(got, big) {
				t.Errorf("%d bytes", len(got))
			}
		})})
		k.Do(anna, testkit.Task(testkit.Close(id), testkit.Empty()), quick)
		wantKept(k)
		if n, err := k.Files.Sweep(context.Background(), time.Now().Add(100*24*time.Hour)); n != 0 || err != nil {
			t.Errorf("%d files were left, %v", n, err)
		}
	}},
}

func TestSessionIsOnDiskBeforeItsAnswer(t *testing.T) {
	store := &slowStore{Store: persistence.NewMemory()}
	store.takes.Store(int64(500 * time.Millisecond))
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		x := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), quick), engine.EndCompleted)
		k.Crash()
		k.Boot()
		goesOn(k, anna, x.SessionID, 1, true)
		// A store that is too slow is not waited for.
		store.takes.Store(int64(3 * time.Second))
		began := time.Now()
		x = k.WantEnd(k.Start(anna, testkit.Task(testkit.Continue(x.SessionID)), quick), engine.EndCompleted)
		if took := time.Since(began); took != 2*time.Second || len(x.Outcome.Warnings) != 1 {
			t.Errorf("after %v: %+v", took, x.Outcome)
		}
	})
}
