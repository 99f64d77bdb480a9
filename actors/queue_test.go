package actors_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// queued is a task that waits in the queue with these options, in JSON.
func queued(t testing.TB, options string) *engine.Task {
	t.Helper()
	task, err := engine.Parse(fmt.Appendf(nil, `{"actions":[{"wait":1}],"timeout":3600000,"queue":%s}`, options), nil)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// enqueue queues a task, and fails the test if it is refused.
func enqueue(k *testkit.Kit, a api.Account, options string) *api.Started {
	k.T.Helper()
	x := k.SendAsync(&api.Execute{Account: a, Task: queued(k.T, options)}, testkit.Script{})
	if x.Refusal != nil || x.Queued == nil {
		k.T.Fatalf("%s: %+v", x.TaskID, x.Refusal)
	}
	return x
}

// each is an engine all of whose tasks go like this.
func each(f func(c testkit.Call) testkit.Script) *testkit.Engine {
	e := testkit.NewEngine()
	e.Default = f
	return e
}

func takes(d time.Duration) *testkit.Engine {
	return each(func(testkit.Call) testkit.Script { return testkit.Script{Takes: d} })
}

func list(k *testkit.Kit, a api.Account, which api.QueueList) (ids []string) {
	k.T.Helper()
	for after := ""; ; {
		l, err := api.Ask(context.Background(), k.Node, &api.ListQueue{Account: a, List: which, After: after, Most: 3})
		if err != nil || l.Refusal != nil {
			k.T.Fatalf("%+v, %v", l, err)
		}
		for _, t := range l.Tasks {
			ids = append(ids, t.ID)
		}
		if after = l.Next; after == "" {
			return ids
		}
	}
}

func playedTasks(k *testkit.Kit) (ids []string) {
	for _, p := range k.Engine.Plays() {
		ids = append(ids, p.Task)
	}
	return ids
}

func code(p *api.Polled) engine.Code {
	if p.Executed == nil || p.Executed.Outcome == nil {
		return ""
	}
	switch out := p.Executed.Outcome; {
	case out.End == engine.EndInterrupted:
		return engine.CodeInterrupted
	case out.End == engine.EndCancelled:
		return engine.CodeCancelled
	case len(out.Failures) > 0:
		return out.Failures[len(out.Failures)-1].Code
	}
	return ""
}

func TestQueue(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration
		drive func(t *testing.T, k *testkit.Kit)
	}{
		{"a task waits while no worker is free, and then runs", time.Minute, func(t *testing.T, k *testkit.Kit) {
			first, second := enqueue(k, anna, `true`), enqueue(k, anna, `true`)
			k.AwaitIdle()
			if p := k.WantPoll(anna, first.TaskID, 0, api.TaskPending); p.Queued != nil {
				t.Errorf("the first is in the queue: %+v", p.Queued)
			}
			p := k.WantPoll(anna, second.TaskID, 0, api.TaskPending)
			if p.Queued == nil || p.Queued.Position != 1 || second.Queued.Position != 1 && second.Queued.Position != 2 {
				t.Errorf("the second is at %+v, and was at %+v", p.Queued, second.Queued)
			}
			if p := k.Poll(bert, second.TaskID, 0); !p.Refusal.NotFound() {
				t.Errorf("another account sees it: %+v", p)
			}
			k.WantPoll(anna, second.TaskID, 2*time.Minute, api.TaskComplete) // the wait goes over from the queue to the worker
			k.WantPoll(anna, first.TaskID, 0, api.TaskComplete)
			if got := playedTasks(k); !slices.Equal(got, []string{first.TaskID, second.TaskID}) {
				t.Errorf("played %q", got)
			}
			if got := list(k, anna, api.ListEnded); !slices.Equal(got, []string{first.TaskID, second.TaskID}) {
				t.Errorf("ended: %q", got)
			}
			if keys, _ := k.Store.Keys(context.Background(), "queued/", "", 10); len(keys) != 0 {
				t.Errorf("left in the queue: %v", keys)
			}
			time.Sleep(time.Hour)
			notFound(k, anna, first.TaskID)
		}},
		{"the highest priority first, then the order", time.Minute, func(t *testing.T, k *testkit.Kit) {
			var want []string
			running := enqueue(k, anna, `true`).TaskID
			k.AwaitIdle()
			for _, p := range []int{1, 9, 5, 9, 1} {
				want = append(want, enqueue(k, anna, fmt.Sprintf(`{"priority":%d}`, p)).TaskID)
			}
			want = []string{running, want[1], want[3], want[2], want[0], want[4]}
			if got := list(k, anna, api.ListWaiting); len(got) != 6 {
				t.Errorf("listed: %q", got)
			}
			time.Sleep(7 * time.Minute)
			if got := playedTasks(k); !slices.Equal(got, want) {
				t.Errorf("played %q, want %q", got, want)
			}
		}},
		{"accounts take turns", time.Minute, func(t *testing.T, k *testkit.Kit) {
			for range 5 {
				enqueue(k, anna, `true`)
			}
			last := enqueue(k, bert, `true`).TaskID
			time.Sleep(7 * time.Minute)
			if at := slices.Index(playedTasks(k), last); at != 1 && at != 2 {
				t.Errorf("the other account was served at %d", at)
			}
		}},
		{"a later start, and an expiry", time.Second, func(t *testing.T, k *testkit.Kit) {
			began := time.Now()
			later := enqueue(k, anna, `{"startAfter":60000}`).TaskID
			at := enqueue(k, anna, fmt.Sprintf(`{"startAfter":%q}`, began.Add(30*time.Second).UTC().Format(time.RFC3339))).TaskID
			expired := enqueue(k, anna, `{"startAfter":20000,"expiresAfter":10000}`).TaskID
			p := k.WantPoll(anna, later, 0, api.TaskPending)
			if p.Queued == nil || p.Queued.Estimate < 59*time.Second {
				t.Errorf("it waits for %+v", p.Queued)
			}
			if p := k.WantPoll(anna, expired, time.Minute, api.TaskFailed); code(p) != engine.CodeExpired || time.Since(began) > 21*time.Second {
				t.Errorf("%s after %s: %+v", code(p), time.Since(began), p.Executed.Outcome)
			}
			k.WantPoll(anna, later, 2*time.Minute, api.TaskComplete)
			plays := k.Engine.Plays()
			if len(plays) != 2 || plays[0].Task != at || plays[1].Task != later {
				t.Fatalf("played %+v", plays)
			}
			for i, want := range []time.Duration{30 * time.Second, time.Minute} {
				if got := plays[i].Began.Sub(began); got < want-time.Second || got > want+time.Second {
					t.Errorf("%s began after %s, want %s", plays[i].Task, got, want)
				}
			}
			if got := list(k, anna, api.ListDead); !slices.Equal(got, []string{expired}) {
				t.Errorf("failed: %q", got)
			}
		}},
		{"cancelled while it waits, and while it runs", time.Minute, func(t *testing.T, k *testkit.Kit) {
			running, waiting := enqueue(k, anna, `true`).TaskID, enqueue(k, anna, `true`).TaskID
			k.AwaitIdle()
			for _, c := range []struct {
				a    api.Account
				id   string
				want bool
			}{{bert, waiting, false}, {bert, running, false}, {anna, waiting, true}, {anna, waiting, false}, {anna, running, true}, {anna, "task_9_q50123456789abcd", false}} {
				got, err := api.Ask(context.Background(), k.Node, &api.Cancel{TaskID: c.id, Account: c.a, Cause: api.CauseAsked})
				if err != nil || got.Found != c.want {
					t.Errorf("cancel %s: %+v, %v; want %v", c.id, got, err, c.want)
				}
			}
			for _, id := range []string{running, waiting} {
				if p := k.WantPoll(anna, id, time.Second, api.TaskFailed); code(p) != engine.CodeCancelled {
					t.Errorf("%s: %+v", id, p.Executed.Outcome)
				}
			}
			if got := playedTasks(k); !slices.Equal(got, []string{running}) {
				t.Errorf("played %q", got)
			}
			if got := list(k, anna, api.ListDead); len(got) != 0 {
				t.Errorf("can be sent again: %q", got)
			}
		}},
		{"a repeated key is the same task", time.Second, func(t *testing.T, k *testkit.Kit) {
			send := func() *api.Started {
				return k.SendAsync(&api.Execute{Account: anna, Task: queued(t, `true`), Idempotency: api.Idempotency{Key: "k", Digest: []byte("d")}}, testkit.Script{})
			}
			first, second := send(), send()
			if first.Refusal != nil || second.TaskID != first.TaskID || second.Queued == nil {
				t.Errorf("%+v, then %+v", first, second)
			}
			k.WantPoll(anna, first.TaskID, time.Minute, api.TaskComplete)
			if third := send(); third.TaskID != first.TaskID {
				t.Errorf("%+v after the end", third)
			}
			if n := len(playedTasks(k)); n != 1 {
				t.Errorf("played %d times", n)
			}
		}},
		{"limits of the plan", time.Hour, func(t *testing.T, k *testkit.Kit) {
			l := engine.DefaultLimits()
			pro := l[engine.Pro]
			pro.QueueTasks = 3
			l[engine.Pro] = pro
			k.Node.SetLimits(l)
			for range 4 { // one runs
				enqueue(k, anna, `true`)
				k.AwaitIdle()
			}
			x := k.SendAsync(&api.Execute{Account: anna, Task: queued(t, `true`)}, testkit.Script{})
			if x.Refusal == nil || x.Refusal.Code != engine.CodeQueueFull || x.Refusal.RetryAfter <= 0 {
				t.Errorf("%+v", x.Refusal)
			}
			free := anna
			free.Plan = engine.Free
			x = k.SendAsync(&api.Execute{Account: free, Task: queued(t, `true`)}, testkit.Script{})
			if x.Refusal == nil || x.Refusal.Code != engine.CodePlanRequired {
				t.Errorf("%+v", x.Refusal)
			}
		}},
		{"a removed account leaves nothing", time.Hour, func(t *testing.T, k *testkit.Kit) {
			for range 5 {
				enqueue(k, anna, `true`)
			}
			other := enqueue(k, bert, `true`).TaskID
			k.AwaitIdle()
			if _, err := api.Ask(context.Background(), k.Node, &api.RemoveAccount{Account: anna.ID}); err != nil {
				t.Fatal(err)
			}
			k.AwaitIdle()
			all, err := k.Store.List(context.Background(), "")
			if err != nil || slices.ContainsFunc(all, func(r persistence.Record) bool { return strings.Contains(r.Key, "/"+anna.ID+"/") }) {
				t.Errorf("left: %v, %v", all, err)
			}
			if p := k.WantPoll(bert, other, 0, api.TaskPending); p.Queued != nil {
				t.Errorf("the other account's task waits: %+v", p.Queued)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Run(t, testkit.Options{Workers: 1, Engine: takes(c.takes)}, c.drive)
		})
	}
}
