package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// profileKit are the options of a kit with profiles, whose tasks take so long.
func profileKit(workers int, v *testkit.Visits, takes time.Duration, all **persistence.Profiles) testkit.Options {
	return testkit.Options{Workers: workers, Engine: each(func(testkit.Call) testkit.Script { return v.Script(takes) }), Config: func(c *actors.Config) {
		c.Profiles = persistence.NewProfiles(c.Store, c.Seal)
		*all = c.Profiles
	}}
}

// enqueueWith queues a task with a profile.
func enqueueWith(k *testkit.Kit, a api.Account, profile, options string) string {
	k.T.Helper()
	x := k.SendAsync(&api.Execute{Account: a, Task: profiled(k.T, profile, options)}, testkit.Script{})
	if x.Refusal != nil || x.Queued == nil {
		k.T.Fatalf("%s: %+v", x.TaskID, x.Refusal)
	}
	return x.TaskID
}

func profiled(t testing.TB, profile, options string) *engine.Task {
	t.Helper()
	task, err := engine.Parse(fmt.Appendf(nil, `{"actions":[{"wait":1}],"timeout":3600000,"profile":%s,"queue":%s}`, profile, options), nil)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func savedBy(t *testing.T, p *persistence.Profiles, account, name string, version int) []string {
	t.Helper()
	state, _, err := p.State(context.Background(), account, name, version)
	if err != nil {
		t.Fatalf("%s@%d: %v", name, version, err)
	}
	tasks, err := testkit.TasksOf(state)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// inVersions fails the test unless each version of a profile has what the one before has,
// and one task more. It returns the tasks of the newest one.
func inVersions(t *testing.T, p *persistence.Profiles, account, name string) []string {
	t.Helper()
	of, err := p.Get(context.Background(), account, name)
	if err != nil {
		t.Fatal(err)
	}
	tasks := savedBy(t, p, account, name, 0)
	for _, v := range of.Versions {
		then := savedBy(t, p, account, name, v.Version)
		if len(then) != v.Version || then[len(then)-1] != v.By || !slices.Equal(then, tasks[:len(then)]) {
			t.Errorf("version %d of %s is saved by %s, and has %d tasks, of %d", v.Version, name, v.By, len(then), len(tasks))
		}
	}
	return tasks
}

// TestQueuedProfilesSurvive: tasks of the queue and requests save profiles, and the process
// ends again and again. One saves at a time, each version follows from the one before, none
// of them is lost, and no task saves more often than it is played.
//
// Promise: Queued tasks keep their turn at a profile over a restart
// (docs/profiles.md#in-the-queue).
func TestQueuedProfilesSurvive(t *testing.T) { queuedProfilesSurvive(t, nil) }

// TestQueuedProfilesOfANodeSurvive: so it is with the queue of several nodes, of which this
// one is left.
func TestQueuedProfilesOfANodeSurvive(t *testing.T) {
	need.All(t)
	queuedProfilesSurvive(t, func(c *actors.Config) { c.Node, c.Session.Lease, c.Peers = "n1", 10*time.Second, nobody{} })
}

func queuedProfilesSurvive(t *testing.T, config func(*actors.Config)) {
	for seed := range seeds(6, 20) {
		r := rand.New(rand.NewPCG(seed, 21))
		v := &testkit.Visits{}
		var profiles *persistence.Profiles
		o := profileKit(3, v, 300*time.Millisecond, &profiles)
		keeps := o.Config
		o.Config = func(c *actors.Config) {
			if keeps(c); config != nil {
				config(c)
			}
		}
		testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
			ordered := func() {
				if config != nil { // until then, nobody orders the queue
					time.Sleep(2 * time.Second)
				}
			}
			ordered()
			names := []string{"p", "q"}
			attempts, copies, of := map[string]int{}, map[string]bool{}, map[string]string{}
			var ids []string
			for range 40 {
				switch r.IntN(7) {
				case 0, 1, 2:
					for range r.IntN(6) {
						name, n := names[r.IntN(2)], 1+2*r.IntN(2)
						profile, copied := fmt.Sprintf("%q", name), r.IntN(6) == 0
						if copied {
							profile = fmt.Sprintf(`{"name":%q,"busy":"copy"}`, name)
						}
						id := enqueueWith(k, anna, profile, fmt.Sprintf(`{"attempts":%d,"backoff":100,"priority":%d%s}`, n, r.IntN(10),
							[]string{"", `,"group":"g","concurrency":3`, `,"startAfter":700`}[r.IntN(3)]))
						ids = append(ids, id)
						attempts[id], copies[id], of[id] = n, copied, name
					}
				case 3: // a request, which is refused where a task has the profile
					task := profiled(t, fmt.Sprintf("%q", names[r.IntN(2)]), "null")
					if x := k.Do(anna, task, v.Script(200*time.Millisecond)); x.Refusal != nil && x.Refusal.Code != engine.CodeProfileBusy && x.Refusal.Code != engine.CodeNoWorkerAvailable {
						t.Fatalf("seed %d: %+v", seed, x.Refusal)
					}
				case 4:
					k.Crash()
					k.Boot()
					ordered()
				case 5:
					k.Restart()
					ordered()
				default:
					time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				}
			}
			plays, saved := map[string]int{}, map[string]int{}
			ends := map[string]*api.Polled{}
			for _, id := range ids {
				if ends[id] = k.Poll(anna, id, 5*time.Minute); ends[id].Status == api.TaskPending || ends[id].Refusal != nil {
					t.Fatalf("seed %d: %s has not ended: %+v", seed, id, ends[id])
				}
			}
			for _, p := range k.Engine.Plays() {
				plays[p.Task]++
			}
			for _, name := range names {
				for _, id := range inVersions(t, profiles, anna.ID, name) {
					if saved[id]++; of[id] != "" && of[id] != name {
						t.Errorf("seed %d: %s has saved %s", seed, id, name)
					}
				}
			}
			for _, id := range ids {
				complete, out := ends[id].Status == api.TaskComplete, ends[id].Executed.Outcome
				switch {
				case plays[id] > attempts[id]:
					t.Errorf("seed %d: %s was played %d times, of %d attempts", seed, id, plays[id], attempts[id])
				case saved[id] > plays[id]:
					t.Errorf("seed %d: %s was played %d times, and has saved %d times", seed, id, plays[id], saved[id])
				case complete && !copies[id] && (saved[id] == 0 || len(out.Warnings) > 0):
					t.Errorf("seed %d: %s is complete, and has saved %d times: %+v", seed, id, saved[id], out.Warnings)
				case !complete && code(ends[id]) != engine.CodeInterrupted:
					t.Errorf("seed %d: %s has failed: %+v", seed, id, out)
				}
			}
			if v.Worst() > 1 {
				t.Errorf("seed %d: %d tasks could save a profile at once", seed, v.Worst())
			}
			left, err := k.Store.Keys(context.Background(), "queued/", "", 100)
			if err != nil || len(left) > 0 {
				t.Errorf("seed %d: left in the queue: %v, %v", seed, left, err)
			}
		})
	}
}

// conflicts counts the tasks that want to save a profile while another one does.
type conflicts struct {
	persistence.Store
	n atomic.Int32
}

func (s *conflicts) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	revision, err := s.Store.Put(ctx, w)
	if errors.Is(err, persistence.ErrConflict) && strings.HasPrefix(w.Key, "profile-writer/") {
		s.n.Add(1)
	}
	return revision, err
}

// TestWaitingForAProfileTakesNothing: tasks of the queue that wait for a profile take no
// worker, no attempt and no count of the day. They begin soon after it is free, also beside
// a task that runs for hours and one that starts later.
func TestWaitingForAProfileTakesNothing(t *testing.T) {
	var profiles *persistence.Profiles
	v := &testkit.Visits{}
	o := profileKit(3, v, time.Second, &profiles)
	o.Engine = each(func(c testkit.Call) testkit.Script {
		if c.Task.Queue != nil && c.Task.Queue.Priority == 0 {
			return testkit.Script{Takes: time.Hour}
		}
		return v.Script(time.Second)
	})
	tries := &conflicts{}
	o.Config = func(c *actors.Config) {
		tries.Store = c.Store
		c.Profiles = persistence.NewProfiles(tries, c.Seal)
		profiles = c.Profiles
		limits := engine.DefaultLimits()[engine.Pro]
		limits.TasksPerDay = 20
		c.Limits = map[engine.Plan]engine.Limits{engine.Pro: limits}
	}
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		w, err := profiles.Lock(context.Background(), anna.ID, "p", "an import")
		if err != nil {
			t.Fatal(err)
		}
		late := enqueue(k, anna, `{"startAfter":3600000}`).TaskID
		var wait, others []string
		for i := range 9 {
			wait = append(wait, enqueueWith(k, anna, `"p"`, []string{`{"priority":9}`, `{"priority":9,"group":"g","concurrency":5}`}[i%2]))
		}
		for i := range 10 {
			others = append(others, enqueueWith(k, anna, []string{`{"name":"p","busy":"copy"}`, `"other"`}[i%2], `{"group":"g","concurrency":5}`))
		}
		began := time.Now()
		for _, id := range others {
			if p := k.Poll(anna, id, time.Minute); p.Status != api.TaskComplete {
				t.Errorf("beside tasks that wait for a profile: %+v", p)
			}
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("ten tasks took %s beside tasks that wait for a profile", took)
		}
		enqueue(k, anna, `{"priority":0}`)
		time.Sleep(30 * time.Second)
		for _, id := range wait {
			if p := k.Poll(anna, id, 0); p.Queued == nil || p.Queued.Attempts != 0 {
				t.Errorf("%s waits for a profile: %+v", id, p)
			}
		}
		freed := time.Now()
		w.Close()
		for _, id := range wait {
			if p := k.Poll(anna, id, time.Minute); p.Status != api.TaskComplete || len(p.Executed.Outcome.Warnings) > 0 {
				t.Errorf("%+v", p)
			}
		}
		if took := time.Since(freed); took > 20*time.Second {
			t.Errorf("nine tasks with a profile took %s", took)
		}
		if tasks := inVersions(t, profiles, anna.ID, "p"); len(tasks) != len(wait) {
			t.Errorf("%d tasks have saved the profile, of %d", len(tasks), len(wait))
		}
		if p := k.Poll(anna, late, 0); p.Queued == nil {
			t.Errorf("%+v", p)
		}
		const copies = 5
		if n := tries.n.Load(); n != copies {
			t.Errorf("%d turns got a worker, and then found the profile used: of those that take no copy, none should", n)
		}
	})
}

// TestARefusedProfileCountsNothing: a request that finds its profile used does not count
// for the day.
func TestARefusedProfileCountsNothing(t *testing.T) {
	var profiles *persistence.Profiles
	v := &testkit.Visits{}
	o := profileKit(1, v, time.Second, &profiles)
	keeps := o.Config
	o.Config = func(c *actors.Config) {
		keeps(c)
		c.Limits = map[engine.Plan]engine.Limits{engine.Pro: {TasksPerDay: 1}}
	}
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		w, err := profiles.Lock(context.Background(), anna.ID, "p", "an import")
		if err != nil {
			t.Fatal(err)
		}
		task := profiled(t, `"p"`, "null")
		for range 3 {
			if x := k.Do(anna, task, v.Script(time.Second)); x.Refusal == nil || x.Refusal.Code != engine.CodeProfileBusy {
				t.Fatalf("%+v", x)
			}
		}
		w.Close()
		if x := k.Do(anna, task, v.Script(time.Second)); x.Refusal != nil {
			t.Errorf("%+v", x.Refusal)
		}
	})
}

// TestRequestsGetAProfileBesideTheQueue: a request that waits for a profile gets it before a
// long queue of tasks with it is empty.
func TestRequestsGetAProfileBesideTheQueue(t *testing.T) {
	var profiles *persistence.Profiles
	v := &testkit.Visits{}
	testkit.Run(t, profileKit(2, v, time.Second, &profiles), func(t *testing.T, k *testkit.Kit) {
		for range 20 {
			enqueueWith(k, anna, `"p"`, "true")
		}
		time.Sleep(1530 * time.Millisecond) // no look is at the moment at which a task ends
		for range 3 {                       // as the edge does
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			if err := profiles.Free(ctx, anna.ID, "p"); err != nil {
				t.Fatal(err)
			}
			cancel()
			if x := k.Do(anna, profiled(t, `"p"`, "null"), v.Script(time.Second)); x.Refusal != nil {
				t.Errorf("%+v", x.Refusal)
			}
		}
		if n := k.Node.Status().Queued; n < 10 {
			t.Errorf("%d tasks wait still", n)
		}
	})
}

// TestAGroupWithProfiles: of a group, tasks with different profiles run at once, and tasks
// with the same one after the other.
func TestAGroupWithProfiles(t *testing.T) {
	var profiles *persistence.Profiles
	v := &testkit.Visits{}
	o := profileKit(5, v, time.Second, &profiles)
	tries := &conflicts{}
	o.Config = func(c *actors.Config) {
		tries.Store = c.Store
		c.Profiles = persistence.NewProfiles(tries, c.Seal)
		profiles = c.Profiles
	}
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		var ids []string
		for i := range 9 {
			ids = append(ids, enqueueWith(k, anna, []string{`"p"`, `"p"`, `"q"`}[i%3], `{"group":"g","concurrency":5}`))
		}
		began := time.Now()
		for _, id := range ids {
			if p := k.Poll(anna, id, time.Minute); p.Status != api.TaskComplete {
				t.Errorf("%+v", p)
			}
		}
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("nine tasks took %s", took)
		}
		if p, q := len(inVersions(t, profiles, anna.ID, "p")), len(inVersions(t, profiles, anna.ID, "q")); p != 6 || q != 3 {
			t.Errorf("saved %d and %d times", p, q)
		}
		if n := tries.n.Load(); n > 0 {
			t.Errorf("%d turns got a worker, and then found the profile used", n)
		}
		most := 0
		plays := k.Engine.Plays()
		for _, p := range plays {
			at := 0
			for _, o := range plays {
				if !o.Began.After(p.Began) && o.Ended.After(p.Began) {
					at++
				}
			}
			most = max(most, at)
		}
		if most != 2 {
			t.Errorf("%d tasks of two profiles ran at once", most)
		}
	})
}
