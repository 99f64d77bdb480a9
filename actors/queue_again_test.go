package actors_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// Promise: At most `concurrency` tasks of a group run at once (docs/queue.md#options).
func TestQueueGroups(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 5, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
		group := map[string]bool{}
		for range 6 {
			group[enqueue(k, anna, `{"group":"login","concurrency":2}`).TaskID] = true
		}
		for range 3 {
			enqueue(k, anna, `true`)
		}
		time.Sleep(10 * time.Minute)
		plays := k.Engine.Plays()
		if len(plays) != 9 {
			t.Fatalf("%d of 9 tasks were played", len(plays))
		}
		for _, p := range plays {
			beside := 0
			for _, o := range plays {
				if group[o.Task] && !o.Began.After(p.Began) && o.Ended.After(p.Began) {
					beside++
				}
			}
			if beside > 2 {
				t.Errorf("%d of the group run at once", beside)
			}
		}
		for _, p := range plays {
			if !group[p.Task] && p.Began.Sub(plays[0].Began) > time.Second {
				t.Errorf("a task of no group waited %s for the group", p.Began.Sub(plays[0].Began))
			}
		}
	})
}

// TestQueueTriesAgain: another attempt after what retryOn names, with a growing pause.
//
// Promise: A task begins again only after the ends that `retryOn` names, and at most
// `attempts` times (docs/queue.md#options).
func TestQueueTriesAgain(t *testing.T) {
	fails := func(c engine.Code) testkit.Script {
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: c, Text: "it failed"}}}}
	}
	next := testkit.Script{}
	testkit.Run(t, testkit.Options{Workers: 1, Engine: each(func(testkit.Call) testkit.Script { return next })}, func(t *testing.T, k *testkit.Kit) {
		next = fails(engine.CodeElementNotFound)
		id := enqueue(k, anna, `{"attempts":3,"backoff":10000,"retryOn":["element_not_found"]}`).TaskID
		time.Sleep(5 * time.Second)
		p := k.WantPoll(anna, id, 0, api.TaskPending)
		if p.Queued == nil || p.Queued.Attempts != 1 {
			t.Errorf("after the first attempt: %+v", p.Queued)
		}
		p = k.WantPoll(anna, id, time.Minute, api.TaskFailed)
		if code(p) != engine.CodeElementNotFound {
			t.Errorf("%+v", p.Executed.Outcome)
		}
		plays := k.Engine.Plays()
		if len(plays) != 3 {
			t.Fatalf("%d attempts", len(plays))
		}
		for i, want := range []time.Duration{10 * time.Second, 20 * time.Second} {
			if got := plays[i+1].Began.Sub(plays[i].Ended); got < want || got > want+time.Second {
				t.Errorf("%s between attempts, want %s", got, want)
			}
		}
		if got := list(k, anna, api.ListDead); !slices.Equal(got, []string{id}) {
			t.Fatalf("failed: %q", got)
		}
		next = testkit.Script{}
		again, err := api.Ask(context.Background(), k.Node, &api.SendAgain{TaskID: id, Account: anna})
		if err != nil || again.Refusal != nil || again.TaskID == id {
			t.Fatalf("%+v, %v", again, err)
		}
		k.WantPoll(anna, again.TaskID, time.Minute, api.TaskComplete)
		if again, err := api.Ask(context.Background(), k.Node, &api.SendAgain{TaskID: id, Account: anna}); err != nil || !again.Refusal.NotFound() {
			t.Errorf("sent twice: %+v, %v", again, err)
		}
		if got := list(k, anna, api.ListDead); len(got) != 0 {
			t.Errorf("still failed: %q", got)
		}
		if p := k.WantPoll(anna, id, 0, api.TaskFailed); code(p) != engine.CodeElementNotFound {
			t.Errorf("the first one: %+v", p.Executed.Outcome)
		}
	})
}

func TestQueueGroupsAreBounded(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Hour)}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `true`) // has the worker
		k.AwaitIdle()
		for i := range 1000 {
			enqueue(k, anna, fmt.Sprintf(`{"group":"g%d"}`, i))
		}
		for options, want := range map[string]engine.Code{`{"group":"one more"}`: engine.CodeQueueFull, `{"group":"g7"}`: "", `true`: ""} {
			x := k.SendAsync(&api.Execute{Account: anna, Task: queued(t, options)}, testkit.Script{})
			if got := x.Refusal; (got == nil) != (want == "") || got != nil && got.Code != want {
				t.Errorf("%s: %+v, want %q", options, got, want)
			}
		}
	})
}

// TestNoQueueInACluster: nodes that share a store refuse queued tasks, and write nothing.
func TestNoQueueInACluster(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Node = "n1" }}, func(t *testing.T, k *testkit.Kit) {
		x := k.SendAsync(&api.Execute{Account: anna, Task: queued(t, `true`)}, testkit.Script{})
		if x.Refusal == nil || x.Refusal.Code != engine.CodeQueueUnavailable {
			t.Errorf("%+v", x.Refusal)
		}
		l, err := api.Ask(context.Background(), k.Node, &api.ListQueue{Account: anna, List: api.ListWaiting, Most: 1})
		if err != nil || l.Refusal == nil {
			t.Errorf("%+v, %v", l, err)
		}
		if again, err := api.Ask(context.Background(), k.Node, &api.SendAgain{TaskID: x.TaskID, Account: anna}); err != nil || again.Refusal == nil {
			t.Errorf("%+v, %v", again, err)
		}
		if all, err := k.Store.List(context.Background(), "queued/"); err != nil || len(all) > 0 {
			t.Errorf("left: %v, %v", all, err)
		}
	})
}

// TestImportWaitsForTheQueue: a cluster does not take over what it could not run.
func TestImportWaitsForTheQueue(t *testing.T) {
	old := persistence.NewMemory()
	defer old.Close()
	p := backlog.Place{Lane: backlog.LaneFor("anna", &engine.Queue{Priority: 1}), Order: 7}
	to := persistence.NewMemory()
	defer to.Close()
	for key, why := range map[string]string{p.Key("t1"): "queue", records.NoticeKey("anna", "msg_1"): "notices"} {
		if _, err := old.Put(context.Background(), persistence.Write{Key: key, Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
		_, err := actors.Import(context.Background(), actors.OfflineData{Store: old}, actors.Config{Store: to, Node: "n1"})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", key, err)
		}
		if err := old.Delete(context.Background(), key, nil, false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQueuedTaskWhoseKeyIsLost: the process ends after a task is written and before its
// key is. A repetition of the request leads to one play, whichever of the two comes
// first.
//
// Promise: Queued tasks are skipped if their key is lost (docs/queue.md#what-happens-when).
func TestQueuedTaskWhoseKeyIsLost(t *testing.T) {
	for _, c := range []struct {
		name        string
		repeatFirst bool
	}{{"repeated before its turn", true}, {"repeated after its turn", false}} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Hour)}, func(t *testing.T, k *testkit.Kit) {
				send := func() *api.Started {
					return k.SendAsync(&api.Execute{Account: anna, Task: queued(t, `{"startAfter":7200000}`), Idempotency: api.Idempotency{Key: "order 7", Digest: []byte("d")}}, testkit.Script{})
				}
				first := send()
				if first.Refusal != nil {
					t.Fatalf("%+v", first.Refusal)
				}
				k.Crash()
				if err := k.Store.Delete(context.Background(), records.KeyPath(anna.ID, "order 7"), nil, true); err != nil {
					t.Fatal(err)
				}
				k.Boot()
				if !c.repeatFirst {
					time.Sleep(3 * time.Hour)
				}
				again := send()
				if again.Refusal != nil {
					t.Fatalf("%+v", again.Refusal)
				}
				if same := again.TaskID == first.TaskID; same == c.repeatFirst {
					t.Errorf("first %s, again %s", first.TaskID, again.TaskID)
				}
				time.Sleep(6 * time.Hour)
				var plays []string
				for _, p := range k.Engine.Plays() {
					if p.Task == first.TaskID || p.Task == again.TaskID {
						plays = append(plays, p.Task)
					}
				}
				if !slices.Equal(plays, []string{again.TaskID}) {
					t.Errorf("played: %q, want %q once", plays, again.TaskID)
				}
			})
		})
	}
}
