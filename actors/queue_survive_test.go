package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/need"
)

// TestQueueSurvives: tasks of all kinds, and the end of the process again and again:
// none is lost, each ends once and keeps its end, one with a single attempt is played once,
// or was interrupted, and one that was cancelled, as its client was told, ends so.
func TestQueueSurvives(t *testing.T) { queueSurvives(t, nil) }

// TestQueueOfANodeSurvives: so it is with the queue of several nodes, of which this one is
// left.
func TestQueueOfANodeSurvives(t *testing.T) {
	need.All(t)
	queueSurvives(t, func(c *actors.Config) { c.Node, c.Session.Lease, c.Peers = "n1", 10*time.Second, nobody{} })
}

func queueSurvives(t *testing.T, config func(*actors.Config)) {
	for seed := range seeds(8, 30) {
		r := rand.New(rand.NewPCG(seed, 7))
		e := each(func(c testkit.Call) testkit.Script {
			return testkit.Script{Takes: time.Duration(len(c.Task.Source())%7) * 100 * time.Millisecond}
		})
		testkit.Run(t, testkit.Options{Workers: 3, Engine: e, Config: config}, func(t *testing.T, k *testkit.Kit) {
			ordered := func() {
				if config != nil { // until then, nobody orders the queue
					time.Sleep(2 * time.Second)
				}
			}
			ordered()
			attempts := map[string]int{}
			cancelled := map[string]bool{}
			ends := map[string]string{}
			var ids []string
			look := func() {
				for _, id := range ids {
					p := k.Poll(anna, id, 0)
					if p.Refusal != nil {
						t.Fatalf("seed %d: %s is lost: %+v", seed, id, p.Refusal)
					}
					if p.Status == api.TaskPending {
						if ends[id] != "" {
							t.Fatalf("seed %d: %s was %s, and runs", seed, id, ends[id])
						}
						continue
					}
					end := fmt.Sprint(p.Status, " ", p.Executed.Outcome.End)
					if was := ends[id]; was != "" && was != end {
						t.Fatalf("seed %d: %s was %s, and is %s", seed, id, was, end)
					}
					ends[id] = end
				}
			}
			for range 60 {
				switch r.IntN(8) {
				case 0, 1, 2:
					for range r.IntN(8) {
						n := 1 + 2*r.IntN(2)
						options := fmt.Sprintf(`{"attempts":%d,"backoff":100,"priority":%d%s}`, n, r.IntN(10), []string{"", `,"group":"g"`, `,"startAfter":700`}[r.IntN(3)])
						id := enqueue(k, anna, options).TaskID
						attempts[id] = n
						ids = append(ids, id)
					}
				case 3:
					if len(ids) > 0 {
						id := ids[r.IntN(len(ids))]
						c, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: id, Account: anna, Cause: api.CauseAsked})
						if err != nil {
							t.Fatal(err)
						}
						cancelled[id] = cancelled[id] || c.Found
					}
				case 4:
					k.Crash()
					if config == nil && r.IntN(2) == 0 {
						losePower(k, func(string) bool { return r.IntN(2) == 0 })
					}
					k.Boot()
					ordered()
				case 5:
					k.Restart()
					ordered()
				case 6:
					look()
				default:
					time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
				}
			}
			for _, id := range ids {
				if p := k.Poll(anna, id, 5*time.Minute); p.Status == api.TaskPending || p.Refusal != nil {
					t.Fatalf("seed %d: %s has not ended: %+v", seed, id, p)
				}
			}
			look()
			plays := map[string]int{}
			for _, p := range k.Engine.Plays() {
				plays[p.Task]++
			}
			for _, id := range ids {
				switch end := ends[id]; {
				case cancelled[id] && !strings.Contains(end, string(engine.EndCancelled)):
					t.Errorf("seed %d: %s is cancelled, as its client was told, and has ended %s", seed, id, end)
				case plays[id] > attempts[id]:
					t.Errorf("seed %d: %s was played %d times, of %d attempts (%s)", seed, id, plays[id], attempts[id], end)
				case plays[id] == 0 && !cancelled[id] && !strings.Contains(end, string(engine.EndInterrupted)): // it was about to be played
					t.Errorf("seed %d: %s was not played, and is %s", seed, id, end)
				}
			}
			k.AwaitIdle() // of several nodes, an end is seen before its record leaves the queue
			left, err := k.Store.Keys(context.Background(), "queued/", "", 100)
			if err != nil || len(left) > 0 {
				t.Errorf("seed %d: left in the queue: %v, %v", seed, left, err)
			}
			if n := k.Node.Status().Queued; n != 0 {
				t.Errorf("seed %d: %d tasks wait", seed, n)
			}
		})
	}
}

// TestQueueBesideRequests: requests without a wait find workers beside a long queue, also
// the first of them, and the first after a while.
//
// Promise: Requests find a worker beside a long queue (docs/queue.md#order).
func TestQueueBesideRequests(t *testing.T) {
	for workers := 2; workers <= 5; workers++ {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			testkit.Run(t, testkit.Options{Workers: workers, Engine: takes(time.Second)}, func(t *testing.T, k *testkit.Kit) {
				for range 100 * workers {
					enqueue(k, anna, `true`)
				}
				time.Sleep(5 * time.Second)
				for i := range 60 {
					if x := k.Do(bert, testkit.Task(), testkit.Script{Takes: 500 * time.Millisecond}); x.Refusal != nil {
						t.Errorf("request %d was refused beside the queue: %+v", i, x.Refusal)
					}
					if i%20 == 19 { // long enough for the queue to have all workers again
						time.Sleep(25 * time.Second)
					}
				}
				if n := len(playedTasks(k)); n < 80*workers/2 {
					t.Errorf("%d tasks were played beside the requests", n)
				}
				time.Sleep(3 * time.Minute)
				if n := k.Node.Status().Queued; n != 0 {
					t.Errorf("%d tasks wait still", n)
				}
			})
		})
	}
}

// TestRequestsWaitForTheirShare: only the workers that the queue has above its share are
// waited for, no longer than a request is given for its task, and not by who says how long
// to wait.
func TestRequestsWaitForTheirShare(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
		for range 6 {
			enqueue(k, anna, `true`)
		}
		time.Sleep(time.Second)
		ask := func(body string) (*api.Executed, time.Duration) {
			task, err := engine.Parse([]byte(body), nil)
			if err != nil {
				t.Error(err)
			}
			began := time.Now()
			return k.Do(bert, task, testkit.Script{Takes: time.Second}), time.Since(began)
		}
		refused := func(body string, after time.Duration) {
			t.Helper()
			x, took := ask(body)
			if x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable || x.Refusal.RetryAfter == 0 || took.Round(time.Second) != after {
				t.Errorf("%s: after %v: %+v", body, took, x.Refusal)
			}
		}
		refused(`{"actions":[{"wait":1}],"timeout":3000}`, 3*time.Second)
		refused(`{"actions":[{"wait":1}],"queueTimeout":2000,"timeout":20000}`, 2*time.Second)
		refused(`{"actions":[{"wait":1}],"timeout":100000}`, 30*time.Second)
		go ask(`{"actions":[{"wait":1}]}`) // the queue has one worker above its share, and this one gets it
		time.Sleep(time.Second)
		refused(`{"actions":[{"wait":1}]}`, 0)
		time.Sleep(3 * time.Minute)
	})
	testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `true`)
		enqueue(k, anna, `true`)
		time.Sleep(time.Second)
		if x := k.Do(bert, testkit.Task(), testkit.Script{}); x.Refusal == nil { // half of one is none
			t.Error("a request waited for the only worker")
		}
		time.Sleep(3 * time.Minute)
	})
}

// TestQueueGoesOnByItself: after a restart nobody has to ask for a task.
func TestQueueGoesOnByItself(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(time.Minute)}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `true`)
		waiting := enqueue(k, anna, `true`).TaskID
		k.AwaitIdle()
		k.Crash()
		k.Boot()
		time.Sleep(2 * time.Minute)
		if got := playedTasks(k); len(got) != 2 || got[1] != waiting {
			t.Errorf("played %q", got)
		}
	})
}
