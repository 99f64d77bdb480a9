package actors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// TestRemovedAccounts removes anna's account. Bert's goes on.
func TestRemovedAccounts(t *testing.T) {
	for _, r := range removedRows {
		t.Run(r.name, func(t *testing.T) {
			if r.options.Workers == 0 {
				r.options.Workers = 1
			}
			testkit.Run(t, r.options, r.drive)
		})
	}
}

// nothingOf fails the test if anything on disk names an account.
func nothingOf(k *testkit.Kit, a api.Account) {
	k.T.Helper()
	k.AwaitIdle()
	list, err := k.Store.List(context.Background(), "")
	if err != nil {
		k.T.Fatal(err)
	}
	for _, r := range list {
		if strings.Contains(r.Key, a.ID) || strings.Contains(string(r.Value), `"`+a.ID+`"`) {
			k.T.Errorf("left of %s: %s %.80q", a.ID, r.Key, r.Value)
		}
	}
}

var removedRows = []row{
	{"reserved to online when its account is removed, after a reset", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna)
		k.Engine.OnReset("w1", testkit.Reset{Takes: time.Second})
		began := time.Now()
		if r := testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); *r != (api.AccountRemoved{Sessions: 1}) {
			t.Errorf("%+v", r)
		}
		x := k.WantEnd(k.Start(bert, testkit.Task(testkit.On("w1")), quick), engine.EndCompleted)
		sees(k, x, 0)
		if took := time.Since(began); took != time.Second { // it waited for the reset
			t.Errorf("clean after %v", took)
		}
		wantKept(k)
		k.WantState("w1", api.Online)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.Continue(id)), quick), engine.CodeUnauthorized)
		if n := k.Node.Sessions(); n != 0 {
			t.Errorf("%d sessions", n)
		}
		nothingOf(k, anna)
	}},
	{"busy to online when its account is removed", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		id := reserve(k, anna, testkit.On("w1"))
		r1 := k.Start(anna, testkit.Task(testkit.Continue(id)), lasting(time.Minute))
		r2 := k.Start(anna, testkit.Task(testkit.On("w2")), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		k.WantState("w2", api.Busy)
		if r := testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); *r != (api.AccountRemoved{Tasks: 2, Sessions: 1}) {
			t.Errorf("%+v", r)
		}
		for _, r := range []*testkit.Request{r1, r2} {
			if x := k.WantEnd(r, engine.EndCancelled); x.SessionID != "" {
				t.Errorf("the answer names session %s", x.SessionID)
			}
		}
		for _, w := range []string{"w1", "w2"} {
			k.WantState(w, api.Online)
			sees(k, k.WantEnd(k.Start(bert, testkit.Task(testkit.On(w)), quick), engine.EndCompleted), 0)
		}
		nothingOf(k, anna)
	}},
	{"a session that its task opens does not come about", testkit.Options{}, func(_ *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), lasting(time.Minute))
		k.WantState("w1", api.Busy)
		testkit.Ask(k, &api.RemoveAccount{Account: anna.ID})
		if x := k.WantEnd(r, engine.EndCancelled); x.SessionID != "" {
			k.T.Errorf("%+v", x)
		}
		k.WantState("w1", api.Online)
		nothingOf(k, anna)
	}},
	{"a task that heeds nothing is ended with its browser", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		r := k.Start(anna, testkit.Task(testkit.Preserve()), unresponsive)
		k.WantState("w1", api.Busy)
		began := time.Now()
		testkit.Ask(k, &api.RemoveAccount{Account: anna.ID})
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("removed after %v", took)
		}
		k.WantEnd(r, engine.EndCancelled)
		nothingOf(k, anna)
	}},
	{"who waits is told at once, and nobody else is", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		hold := k.Start(bert, testkit.Task(), second)
		k.WantState("w1", api.Busy)
		wait := testkit.Waiting(time.Minute)
		waits := []*testkit.Request{
			k.Start(anna, testkit.Task(wait), quick), k.Start(anna, testkit.Task(wait, testkit.On("w1")), quick),
			k.Send(with("key", "a", anna, wait), quick),
		}
		other := k.Start(bert, testkit.Task(wait), quick)
		k.UntilWaiting(4)
		began := time.Now()
		if r := testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); *r != (api.AccountRemoved{Tasks: 3}) {
			t.Errorf("%+v", r)
		}
		for _, r := range waits {
			k.WantRefused(r, engine.CodeUnauthorized)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("told after %v", took)
		}
		k.WantEnd(hold, engine.EndCompleted)
		k.WantEnd(other, engine.EndCompleted)
		nothingOf(k, anna)
		late := k.SendAsync(&api.Execute{Account: anna, Task: testkit.Task()}, quick)
		if late.Refusal == nil || late.Refusal.Code != engine.CodeUnauthorized {
			t.Errorf("%+v", late)
		}
	}},
	{"its workers go", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		own := []api.WorkerInfo{k.AddWorker("one", "anna"), k.AddWorker("two", "anna"), k.AddWorker("three", "anna")}
		k.AddWorker("berts", "bert")
		reserve(k, anna, testkit.On(own[0].ID))
		r := k.Start(anna, testkit.Task(testkit.On(own[1].ID)), lasting(time.Minute))
		k.WantState(own[1].ID, api.Busy)
		testkit.Ask(k, &api.DrainWorker{Worker: "three"})
		if r := testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); *r != (api.AccountRemoved{Tasks: 1, Sessions: 1, Workers: 3}) {
			t.Errorf("%+v", r)
		}
		k.WantEnd(r, engine.EndCancelled)
		k.AwaitIdle()
		if by := workers(k); len(by) != 2 || len(Store(k, "worker/")) != 1 || k.OpenBrowsers() != 2 {
			t.Errorf("%+v, %v, %d browsers", by, Store(k, "worker/"), k.OpenBrowsers())
		}
		if _, err := api.Ask(context.Background(), k.Node, &api.AddWorker{Name: "late", Owner: "anna"}); err == nil {
			t.Error("a worker was added for a removed account")
		}
		k.Crash()
		k.Boot()
		if by := workers(k); len(by) != 2 {
			t.Errorf("%+v", by)
		}
		nothingOf(k, anna)
	}},
	{"its records go: tasks, keys, counts", testkit.Options{Workers: 2}, func(t *testing.T, k *testkit.Kit) {
		carl := testkit.Account("carl", engine.Standard)
		ended := k.StartAsync(carl, testkit.Task(), quick)
		k.WantPoll(carl, ended.TaskID, time.Second, api.TaskComplete)
		large := testkit.Script{Do: withCache(func(*engine.Cache) {})}
		k.WantEnd(k.Send(with("key", "a", carl), large), engine.EndCompleted)
		key := with("async", "a", carl)
		runs := k.SendAsync(key, lasting(time.Minute))
		others := k.StartAsync(bert, testkit.Task(), quick)
		k.WantPoll(bert, others.TaskID, time.Second, api.TaskComplete)
		polls := make(chan *api.Polled, 1)
		go func() { polls <- k.Poll(carl, runs.TaskID, time.Minute) }()
		k.AwaitIdle()
		if len(Store(k, "task/")) != 3 || len(Store(k, "key/carl/")) != 2 || len(Store(k, "usage/carl/")) != 1 {
			t.Fatalf("%v", Store(k, ""))
		}
		if r := testkit.Ask(k, &api.RemoveAccount{Account: carl.ID}); *r != (api.AccountRemoved{Tasks: 1}) {
			t.Errorf("%+v", r)
		}
		if p := <-polls; p.Status != api.TaskFailed || p.Executed.Outcome.End != engine.EndCancelled {
			t.Errorf("who waited for the end: %+v", p)
		}
		notFound(k, carl, ended.TaskID)
		notFound(k, carl, runs.TaskID)
		nothingOf(k, carl)
		k.WantPoll(bert, others.TaskID, 0, api.TaskComplete)
		time.Sleep(2 * time.Minute) // nor does an actor write anything later
		nothingOf(k, carl)
	}},
	{"one that the node knows nothing of, and twice", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		for range 2 {
			if r := testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); *r != (api.AccountRemoved{}) {
				t.Errorf("%+v", r)
			}
		}
		k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
	}},
	{"its session is still being put back after a restart", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		reserve(k, anna)
		k.Crash()
		k.Engine.SetLaunchTakes(10 * time.Second)
		k.BootCold()
		if r := testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); *r != (api.AccountRemoved{Sessions: 1}) {
			t.Errorf("%+v", r)
		}
		nothingOf(k, anna)
		k.Until("w1", api.Online)
		sees(k, k.Do(bert, testkit.Task(), quick), 0)
	}},
	{"in the middle of the taking of a daily count", testkit.Options{}, func(t *testing.T, k *testkit.Kit) {
		for range 20 {
			r := k.Start(anna, testkit.Task(), lasting(20*time.Second))
			testkit.Ask(k, &api.RemoveAccount{Account: anna.ID})
			if x := r.Answer(); x.Refusal != nil && x.Refusal.Code != engine.CodeUnauthorized || x.Outcome != nil && x.Outcome.End != engine.EndCancelled {
				t.Errorf("%+v", x)
			}
		}
		k.WantState("w1", api.Online)
	}},
}

// heldStore lets writes and additions to keys that begin so wait.
type heldStore struct {
	persistence.Store
	prefix string
	begun  chan struct{}
	free   chan struct{}
}

func (s *heldStore) hold(key string) {
	if strings.HasPrefix(key, s.prefix) {
		s.begun <- struct{}{}
		<-s.free
	}
}

func (s *heldStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	s.hold(w.Key)
	return s.Store.Put(ctx, w)
}

func (s *heldStore) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	s.hold(key)
	return s.Store.Add(ctx, key, delta, limit, expires)
}

// held runs f with a store that lets such writes wait.
func held(t *testing.T, prefix string, f func(*testing.T, *testkit.Kit, *heldStore)) {
	t.Helper()
	s := &heldStore{Store: persistence.NewMemory(), prefix: prefix}
	config := func(*actors.Config) { s.begun, s.free = make(chan struct{}, 1), make(chan struct{}) } // in the bubble
	testkit.Run(t, testkit.Options{Workers: 1, Store: s, Config: config}, func(t *testing.T, k *testkit.Kit) { f(t, k, s) })
}

// TestAccountIsRemovedWhileATaskIsCounted: the count is not there afterwards. Who
// has no limit does not wait for it before the task, but before the answer.
func TestAccountIsRemovedWhileATaskIsCounted(t *testing.T) {
	for _, a := range []api.Account{anna, testkit.Account("carl", engine.Standard)} {
		held(t, "usage/", func(_ *testing.T, k *testkit.Kit, store *heldStore) {
			r := k.Start(a, testkit.Task(), quick)
			<-store.begun
			k.AwaitIdle() // who does not wait for the count has been played by now
			removed := make(chan struct{})
			go func() { testkit.Ask(k, &api.RemoveAccount{Account: a.ID}); close(removed) }()
			k.AwaitIdle()
			close(store.free)
			if a == anna {
				k.WantEnd(r, engine.EndCompleted)
			} else {
				k.WantRefused(r, engine.CodeUnauthorized)
			}
			<-removed
			nothingOf(k, a)
		})
	}
}

// TestAccountIsRemovedWhileAWorkerIsAddedForIt lets the two meet.
func TestAccountIsRemovedWhileAWorkerIsAddedForIt(t *testing.T) {
	held(t, "worker/", func(t *testing.T, k *testkit.Kit, store *heldStore) {
		added := make(chan error, 1)
		go func() {
			added <- errOf(api.Ask(context.Background(), k.Node, &api.AddWorker{Name: "annas", Owner: "anna"}))
		}()
		<-store.begun
		removed := make(chan struct{})
		go func() { testkit.Ask(k, &api.RemoveAccount{Account: anna.ID}); close(removed) }()
		k.AwaitIdle()
		close(store.free)
		if err := <-added; err == nil || !strings.Contains(err.Error(), "account was removed") {
			t.Error(err)
		}
		<-removed
		if by := workers(k); len(by) != 1 || len(Store(k, "worker/")) != 0 {
			t.Errorf("%+v, %v", by, Store(k, "worker/"))
		}
	})
}

// TestAccountThatCannotBeErased: the removal says so, and can be asked for again.
func TestAccountThatCannotBeErased(t *testing.T) {
	store := &slowStore{Store: persistence.NewMemory()}
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		w := k.AddWorker("annas", "anna")
		s := k.StartAsync(anna, testkit.Task(), quick)
		k.WantPoll(anna, s.TaskID, time.Second, api.TaskComplete)
		for _, prefix := range []string{"", "worker/"} {
			store.fail(prefix)
			if _, err := api.Ask(context.Background(), k.Node, &api.RemoveAccount{Account: "anna"}); err == nil ||
				!strings.Contains(err.Error(), "disk is full") {
				t.Errorf("%s: %v", prefix, err)
			}
			k.AwaitIdle()
			if n := k.OpenBrowsers(); n != 1 { // it runs no more, whatever the disk says
				t.Errorf("%d browsers", n)
			}
		}
		store.fails.Store(nil)
		testkit.Ask(k, &api.RemoveAccount{Account: anna.ID})
		nothingOf(k, anna)
		if by := workers(k); by["annas"].ID == w.ID {
			t.Errorf("%+v", by)
		}
	})
}

// TestWorkerThatCannotBeWrittenDown is not added, and one that cannot be
// forgotten stays.
func TestWorkerThatCannotBeWrittenDown(t *testing.T) {
	store := &slowStore{Store: persistence.NewMemory()}
	testkit.Run(t, testkit.Options{Workers: 1, Store: store}, func(t *testing.T, k *testkit.Kit) {
		store.fail("worker/")
		if _, err := api.Ask(context.Background(), k.Node, &api.AddWorker{Name: "extra"}); err == nil ||
			!strings.Contains(err.Error(), "disk is nearly full") {
			t.Error(err)
		}
		if by := workers(k); len(by) != 1 {
			t.Errorf("%+v", by)
		}
		store.fails.Store(nil)
		w := k.AddWorker("extra", "anna") // the name was not taken
		store.fail("worker/")
		if _, err := api.Ask(context.Background(), k.Node, &api.RemoveWorker{Worker: "extra"}); err == nil ||
			!strings.Contains(err.Error(), "stays, drained") {
			t.Error(err)
		}
		k.WantState(w.ID, api.Offline)
		k.WantRefused(k.Start(anna, testkit.Task(testkit.On(w.ID)), quick), engine.CodeWorkerOffline)
		testkit.Ask(k, &api.ResumeWorker{Worker: "extra"})
		k.Until(w.ID, api.Online)
		on(k, w.ID, k.Start(anna, testkit.Task(), quick))
		store.fails.Store(nil)
		testkit.Ask(k, &api.RemoveWorker{Worker: "extra", Grace: 0})
	})
}
