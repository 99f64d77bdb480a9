package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
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

// announcedTasks are the tasks that may begin without a sync of their claims.
func announcedTasks(k *testkit.Kit) (a records.Ahead, tasks []string) {
	k.T.Helper()
	rec, err := k.Store.Get(context.Background(), records.AheadKey)
	if errors.Is(err, persistence.ErrNotFound) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(rec.Value, &a)
	}
	if err != nil {
		k.T.Fatal(err)
	}
	for _, key := range a.Keys {
		tasks = append(tasks, path.Base(key))
	}
	return a, tasks
}

// losePower does to a store that nobody has what a loss of power does: the system is another
// one now, and of what was not synced some is gone.
func losePower(k *testkit.Kit, gone func(task string) bool) {
	k.T.Helper()
	ctx := context.Background()
	a, tasks := announcedTasks(k)
	if a.Keys == nil {
		return
	}
	a.Boot = "before"
	b, err := json.Marshal(a)
	if err == nil {
		_, err = k.Store.Put(ctx, persistence.Write{Key: records.AheadKey, Value: b})
	}
	for _, id := range tasks {
		if err != nil {
			break
		}
		var rec persistence.Record
		var claim records.Task
		if rec, err = k.Store.Get(ctx, records.TaskPrefix+id); errors.Is(err, persistence.ErrNotFound) {
			err = nil
			continue
		} else if err == nil {
			err = json.Unmarshal(rec.Value, &claim)
		}
		if err == nil && claim.Status == api.TaskPending && !claim.Queue.Waiting && gone(id) {
			err = k.Store.Delete(ctx, records.TaskPrefix+id, nil, true)
		}
	}
	if err != nil {
		k.T.Fatal(err)
	}
}

// TestReadAhead: tasks that are read before their turn run in the order of the queue all the
// same, and not at all once they were cancelled.
func TestReadAhead(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
		var ids []string
		for range 5 {
			ids = append(ids, enqueue(k, anna, `true`).TaskID)
		}
		k.AwaitIdle()
		_, got := announcedTasks(k)
		// The first two may still be named: their workers took them while they were being announced.
		got = slices.DeleteFunc(got, func(id string) bool { return slices.Contains(ids[:2], id) })
		if !slices.Equal(sorted(got), sorted(ids[2:4])) {
			t.Fatalf("read ahead: %q, want %q", got, ids[2:4])
		}
		first := enqueue(k, anna, `{"priority":9}`).TaskID
		if c, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: ids[2], Account: anna, Cause: api.CauseAsked}); err != nil || !c.Found {
			t.Fatal(c, err)
		}
		time.Sleep(5 * time.Minute)
		want := sorted([]string{first, ids[3]})
		if got := playedTasks(k); len(got) != 5 || !slices.Equal(sorted(got[2:4]), want) || got[4] != ids[4] {
			t.Errorf("ran %q, want after the first two %q, then %q", got, want, ids[4])
		}
		k.Restart()
		if a, _ := announcedTasks(k); a.Keys != nil {
			t.Errorf("after a stop in order tasks are announced: %q", a.Keys)
		}
	})
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// TestLossOfPower: of a task that was announced, nobody knows after a loss of power whether
// it has begun. After the end of the process alone, its claim says so.
func TestLossOfPower(t *testing.T) {
	for name, power := range map[string]bool{"the process ends": false, "the system ends": true} {
		t.Run(name, func(t *testing.T) {
			testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
				enqueue(k, anna, `true`)
				k.AwaitIdle()
				once := enqueue(k, anna, `true`).TaskID
				k.AwaitIdle()
				if _, got := announcedTasks(k); !slices.Equal(got, []string{once}) {
					t.Fatalf("announced: %q, want %q", got, once)
				}
				twice := enqueue(k, anna, `{"attempts":2,"priority":9}`).TaskID
				k.AwaitIdle()
				time.Sleep(time.Minute + time.Second) // the first has ended, and a place is free
				enqueue(k, anna, `true`)
				k.AwaitIdle()
				if power {
					k.Crash()
					losePower(k, func(string) bool { return true })
				} else {
					k.Crash()
				}
				k.Boot()
				want := map[string]engine.Code{once: "", twice: ""}
				if power {
					want[once] = engine.CodeInterrupted
				}
				for id, code1 := range want {
					if p := k.Poll(anna, id, time.Hour); code(p) != code1 {
						t.Errorf("%s ended as %q, want %q", id, code(p), code1)
					}
				}
			})
		})
	}
}

// TestLossOfPowerAndKey: a task that may have begun, and that nobody can read any more, keeps
// the service from nothing.
func TestLossOfPowerAndKey(t *testing.T) {
	lost := false
	testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Minute), Config: func(c *actors.Config) {
		if lost {
			var err error
			if c.Seal, err = persistence.NewSeal([]byte("another key, which opens nothing")); err != nil {
				t.Fatal(err)
			}
		}
	}}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `true`)
		enqueue(k, anna, `true`)
		k.AwaitIdle()
		k.Crash()
		losePower(k, func(string) bool { return true })
		lost = true
		k.Boot()
		if p := k.Poll(anna, enqueue(k, anna, `true`).TaskID, time.Hour); code(p) != "" || p.Status != api.TaskComplete {
			t.Errorf("a later task ended as %q", code(p))
		}
	})
}

// TestReadAheadOnce: a record that cannot be read is not read ahead again and again.
func TestReadAheadOnce(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `true`)
		good := enqueue(k, anna, `true`).TaskID
		k.AwaitIdle()
		k.Crash()
		keys, err := k.Store.Keys(context.Background(), "queued/", "", 10)
		if err != nil || len(keys) != 2 {
			t.Fatal(keys, err)
		}
		p, _, _ := backlog.ParseKey(keys[1].Key)
		p.Order++
		if _, err := k.Store.Put(context.Background(), persistence.Write{Key: p.Key(p.TaskID("task_x")), Value: []byte("nothing")}); err != nil {
			t.Fatal(err)
		}
		k.Boot()
		k.AwaitIdle()
		if _, got := announcedTasks(k); slices.Contains(got, p.TaskID("task_x")) {
			t.Errorf("announced: %q", got)
		}
		if q := k.Poll(anna, good, time.Hour); code(q) != "" {
			t.Errorf("the other task ended as %q", code(q))
		}
	})
}
