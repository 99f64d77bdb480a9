package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// journey is one way of using a node, in which every request may fail.
type journey struct {
	name   string
	config func(*actors.Config)
	do     func(*traveller)
}

// traveller uses a node. It minds only that it is answered.
type traveller struct {
	*testkit.Kit
	t     *testing.T
	store *moodyStore
}

// moodyStore fails when it is to.
type moodyStore struct {
	persistence.Store
	bad atomic.Pointer[func(key string) error]
}

func (s *moodyStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if f := s.bad.Load(); f != nil {
		if err := (*f)(w.Key); err != nil {
			return 0, err
		}
	}
	return s.Store.Put(ctx, w)
}

// fail lets writes of keys that begin so fail; nothing: all go well again.
func (s *moodyStore) fail(prefixes ...string) {
	f := func(key string) error {
		for _, p := range prefixes {
			if strings.HasPrefix(key, p) {
				return persistence.ErrUnwritable
			}
		}
		return nil
	}
	s.bad.Store(&f)
}

// run makes the journey, and looks whether the node is all right after it. It
// reports whether all was well.
func (j journey) run(t *testing.T, name string, s *spoiler) bool {
	t.Helper()
	return t.Run(j.name+"/"+name, func(t *testing.T) {
		store := &moodyStore{Store: persistence.NewMemory()}
		o := testkit.Options{Workers: 2, Store: store, LaunchTakes: 100 * time.Millisecond, Cold: true, Config: func(c *actors.Config) {
			c.Session.MaxAge, c.Browser.CheckEvery, c.Browser.MemoryEvery = 20*time.Minute, -1, time.Hour
			if j.config != nil {
				j.config(c)
			}
			s.config(c)
		}}
		if s.actor == "top" && s.kind == "*actor.Started" { // then no node comes up, and that is the answer
			wantNoNode(t, s)
			return
		}
		testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
			time.Sleep(2 * time.Minute)
			v := &traveller{k, t, store}
			j.do(v)
			s.end()
			v.settled()
		})
	})
}

// wantNoNode starts a node that must not come up.
func wantNoNode(t *testing.T, s *spoiler) {
	store := persistence.NewMemory()
	defer store.Close()
	cfg := actors.Config{Engine: testkit.NewEngine(), Store: store, Workers: actors.SharedWorkers("", 1)}
	s.config(&cfg)
	up := make(chan error, 1)
	go func() {
		n, err := actors.Start(cfg)
		if err == nil {
			n.Stop()
		}
		up <- err
	}()
	select {
	case err := <-up:
		if (err == nil) != (s.panics == 0) {
			t.Errorf("the node came up with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is not known whether the node came up")
	}
}

// settled fails the test unless the node works as if nothing had happened.
func (v *traveller) settled() {
	v.t.Helper()
	v.store.fail()
	if v.Node.Status().Draining {
		return
	}
	time.Sleep(30 * time.Minute) // every session's time is over, every back-off, every lingering
	if s := v.Node.Status(); s.Waiting != 0 || s.Sessions != 0 || s.Online != s.Workers || s.Workers != 2 {
		v.t.Errorf("in the end: %+v", s)
	}
	for _, w := range []string{"w1", "w2"} {
		r := v.Start(testkit.Pro("zoe"), testkit.Task(testkit.On(w)), second)
		if x := v.answer(r); x == nil || x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
			v.t.Errorf("%s in the end: %+v", w, x)
		}
	}
	p := v.async(testkit.Pro("zoe"), testkit.Task(), second)
	if p == nil || p.Refusal != nil || p.Status != actors.TaskComplete {
		v.t.Errorf("an asynchronous task in the end: %+v", p)
	}
	if n := v.Node.Sessions(); n != 0 {
		v.t.Errorf("%d session actors in the end", n)
	}
}

// soonEnough bounds every answer: longer than any task, back-off or wait here.
const soonEnough = 3 * time.Minute

// answer waits for a request's answer, which may be anything.
func (v *traveller) answer(r *testkit.Request) *actors.Executed {
	v.t.Helper()
	for end := time.Now().Add(soonEnough); !r.Answered(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			v.t.Errorf("%s gets no answer", r.ID)
			return nil
		}
	}
	return r.Answer()
}

// asks does something that may fail, but not by its time being over.
func (v *traveller) asks(what string, f func(context.Context) error) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soonEnough)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- f(ctx) }()
	late := time.NewTimer(soonEnough + time.Minute)
	defer late.Stop()
	select {
	case err := <-answer:
		if errors.Is(err, context.DeadlineExceeded) {
			v.t.Errorf("%s gets no answer", what)
		}
	case <-late.C:
		v.t.Fatalf("%s gets no answer and does not end", what)
	}
}

// async starts a task and polls until it has ended.
func (v *traveller) async(a actors.Account, t *engine.Task, s testkit.Script) (p *actors.Polled) {
	v.t.Helper()
	started := v.starts(&actors.Execute{Account: a, Task: t}, s)
	if started == nil || started.Refusal != nil {
		return nil
	}
	return v.polls(a, started.TaskID, time.Minute)
}

func (v *traveller) starts(x *actors.Execute, s testkit.Script) (started *actors.Started) {
	v.t.Helper()
	v.asks("a start", func(ctx context.Context) error {
		x.TaskID, x.Task.Async = actors.NewTaskID(time.Now()), true
		v.Engine.Script(x.TaskID, s)
		var err error
		started, err = v.Node.Start(ctx, x, nil)
		return err
	})
	return started
}

func (v *traveller) polls(a actors.Account, id string, wait time.Duration) (p *actors.Polled) {
	v.t.Helper()
	v.asks("a poll", func(ctx context.Context) error {
		var err error
		p, err = v.Node.Poll(ctx, &actors.Poll{TaskID: id, Account: a, Wait: wait})
		return err
	})
	return p
}

func (v *traveller) follows(a actors.Account, id string, after int, wait time.Duration) {
	v.t.Helper()
	v.asks("a follower", func(ctx context.Context) error {
		_, err := v.Node.Follow(ctx, &actors.Follow{TaskID: id, Account: a, After: after, Wait: wait})
		return err
	})
}

// opens returns the session that a request has left, or a made-up one.
func (v *traveller) opens(a actors.Account, opts ...testkit.Option) string {
	v.t.Helper()
	x := v.answer(v.Start(a, testkit.Task(append(opts, testkit.Preserve())...), quick))
	if x == nil || x.SessionID == "" {
		return "none"
	}
	return x.SessionID
}

func (v *traveller) does(a actors.Account, opts ...testkit.Option) {
	v.t.Helper()
	v.answer(v.Start(a, testkit.Task(opts...), quick))
}

var journeys = []journey{
	{"requests", nil, (*traveller).requests},
	{"renewed browsers", func(c *actors.Config) { c.Browser.RenewAge = 10 * time.Minute }, (*traveller).requests},
	{"sessions", nil, (*traveller).sessions},
	{"asynchronous tasks", nil, (*traveller).tasks},
	{"keys", nil, (*traveller).keys},
	{"staff", nil, (*traveller).staff},
	{"drain", nil, (*traveller).drains},
	{"leases", func(c *actors.Config) { c.Node, c.Session.Lease = "n1", 10*time.Second }, (*traveller).leases},
}

func (v *traveller) requests() {
	bert := testkit.Account("bert", engine.Standard)
	blocks := v.Start(anna, testkit.Task(testkit.On("w1")), lasting(20*time.Second))
	hangs := v.Start(bert, testkit.Task(testkit.On("w2"), testkit.Within(5*time.Second)), testkit.Script{Hang: true})
	v.Settle()
	impatient := v.Start(anna, testkit.Task(testkit.Waiting(time.Second)), quick)
	patient := v.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), second)
	leaves := v.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), second)
	time.Sleep(5 * time.Second)
	leaves.Leave()
	for _, r := range []*testkit.Request{impatient, leaves, blocks, hangs, patient} {
		v.answer(r)
	}
	runs := v.Start(anna, testkit.Task(testkit.On("w1")), lasting(20*time.Second))
	v.Settle()
	v.asks("a cancellation", func(ctx context.Context) error {
		_, err := v.Node.Cancel(ctx, &actors.Cancel{TaskID: runs.ID, Account: anna, Cause: actors.CauseAsked})
		return err
	})
	v.answer(runs)
	v.asks("a list", func(ctx context.Context) error {
		_, err := v.Node.Workers(ctx, &actors.ListWorkers{Account: anna})
		return err
	})
	v.asks("a survey", func(ctx context.Context) error {
		_, err := v.Node.Survey(ctx, &actors.SurveyWorkers{})
		return err
	})
	v.answer(v.Start(anna, testkit.Task(), testkit.Script{Crash: true}))
	v.Engine.Kill("w2")
	declined := v.Start(anna, testkit.Task(testkit.On("w2"), testkit.Waiting(time.Minute)), quick)
	v.answer(declined)
	v.Engine.Kill("w1")
	v.Node.TellAgain("w1")
	time.Sleep(20 * time.Minute)
	v.Node.PanicWorker("w1")
	v.Node.Offer(&actors.Offer{Node: "n2", Free: 1})
	v.Node.Freed("n2")
	v.Node.Offer(&actors.Offer{Node: "n2"})
	gone := testkit.Pro("gone")
	runs = v.Start(gone, testkit.Task(), lasting(20*time.Second))
	v.Settle()
	v.asks("the removal of an account", func(ctx context.Context) error {
		_, err := v.Node.RemoveAccount(ctx, &actors.RemoveAccount{Account: gone.ID})
		return err
	})
	v.answer(runs)
}

func (v *traveller) sessions() {
	id := v.opens(anna, testkit.On("w1"), testkit.Lasting(10*time.Minute))
	v.does(anna, testkit.Continue(id))
	v.Engine.Kill("w1")
	time.Sleep(5 * time.Second)
	v.does(anna, testkit.Continue(id))
	v.does(anna, testkit.Override(), testkit.On("w1"))
	v.Node.PanicWorker("w1")
	time.Sleep(5 * time.Second)
	v.does(anna, testkit.Override(), testkit.On("w1"))
	time.Sleep(30 * time.Minute)
	id = v.opens(anna, testkit.On("w1"))
	v.does(anna, testkit.Close(id))
	v.opens(anna, testkit.On("w2"))
	v.asks("a drain", func(ctx context.Context) error {
		_, err := v.Node.DrainWorker(ctx, &actors.DrainWorker{Worker: "w2"})
		return err
	})
	time.Sleep(5 * time.Second)
	v.resumes("w2")
	v.resumes("w2") // the first may have failed
	time.Sleep(time.Minute)
	v.async(anna, testkit.Task(testkit.Preserve()), quick)
	v.asks("the removal of an account", func(ctx context.Context) error {
		_, err := v.Node.RemoveAccount(ctx, &actors.RemoveAccount{Account: anna.ID})
		return err
	})
}

func (v *traveller) resumes(worker string) {
	v.asks("a resumption", func(ctx context.Context) error {
		_, err := v.Node.ResumeWorker(ctx, &actors.ResumeWorker{Worker: worker})
		return err
	})
}

func (v *traveller) tasks() {
	s := v.starts(&actors.Execute{Account: anna, Task: testkit.Task()}, testkit.Script{Takes: 10 * time.Second, Steps: 2})
	if s != nil && s.Refusal == nil {
		v.follows(anna, s.TaskID, 0, time.Minute)
		v.polls(anna, s.TaskID, time.Second)
		v.follows(anna, s.TaskID, 0, 0)
		v.polls(anna, s.TaskID, time.Minute)
		time.Sleep(2 * time.Minute)
		if p := v.polls(anna, s.TaskID, 0); p != nil && p.Refusal == nil && p.Status == actors.TaskPending {
			v.t.Errorf("the task has not ended: %+v", p)
		}
		v.polls(testkit.Pro("bert"), s.TaskID, 0)
	}
	v.starts(&actors.Execute{Account: anna, Task: testkit.Task(testkit.Continue("none"))}, quick) // refused
	s = v.starts(&actors.Execute{Account: anna, Task: testkit.Task()}, lasting(10*time.Second))
	v.store.fail("task/", "outcome/")
	if s != nil && s.Refusal == nil {
		v.polls(anna, s.TaskID, time.Minute)
	}
	v.starts(&actors.Execute{Account: anna, Task: testkit.Task()}, quick)
	v.store.fail()
	time.Sleep(time.Minute)
	if s != nil && s.Refusal == nil {
		if p := v.polls(anna, s.TaskID, 0); p != nil && p.Refusal == nil && p.Status == actors.TaskPending {
			v.t.Errorf("the task has not ended: %+v", p)
		}
	}
	v.starts(&actors.Execute{Account: anna, Task: testkit.Task()}, lasting(10*time.Second))
	v.asks("the removal of an account", func(ctx context.Context) error {
		_, err := v.Node.RemoveAccount(ctx, &actors.RemoveAccount{Account: anna.ID})
		return err
	})
}

func (v *traveller) keys() {
	for range 2 {
		v.answer(v.Send(with("k1", "d", anna), second))
	}
	two := []*testkit.Request{v.Send(with("k2", "d", anna), second), v.Send(with("k2", "d", anna), second)}
	for _, r := range two {
		v.answer(r)
	}
	for range 2 {
		v.starts(with("k3", "d", anna), second)
	}
	v.store.fail("key/")
	v.answer(v.Send(with("k4", "d", anna), second))
	v.store.fail()
}

func (v *traveller) staff() {
	id := ""
	v.asks("an addition", func(ctx context.Context) error {
		w, err := v.Node.AddWorker(ctx, &actors.AddWorker{Name: "new"})
		id = w.ID
		return err
	})
	time.Sleep(2 * time.Minute)
	runs := []*testkit.Request{v.Start(anna, testkit.Task(testkit.On("w1")), lasting(30*time.Second))}
	if id != "" {
		runs = append(runs, v.Start(anna, testkit.Task(testkit.On(id)), lasting(30*time.Second)))
	}
	time.Sleep(time.Second)
	for range 20 { // the removal may have to be asked for again
		v.asks("a removal", func(ctx context.Context) error {
			_, err := v.Node.RemoveWorker(ctx, &actors.RemoveWorker{Worker: "new", Grace: time.Second})
			return err
		})
		time.Sleep(10 * time.Second)
	}
	for _, r := range runs {
		v.answer(r)
	}
	v.asks("a drain", func(ctx context.Context) error {
		_, err := v.Node.DrainWorker(ctx, &actors.DrainWorker{Worker: "w1"})
		return err
	})
	v.does(anna, testkit.On("w1"))
	v.resumes("w1")
	v.resumes("w1")
}

func (v *traveller) drains() {
	runs := v.Start(anna, testkit.Task(), lasting(30*time.Second))
	waits := v.Start(anna, testkit.Task(testkit.On("w1"), testkit.Waiting(time.Minute)), lasting(30*time.Second))
	v.starts(&actors.Execute{Account: anna, Task: testkit.Task()}, lasting(30*time.Second))
	v.asks("a drain", func(ctx context.Context) error {
		_, err := v.Node.Drain(ctx, 5*time.Second)
		return err
	})
	v.answer(runs)
	v.answer(waits)
}

func (v *traveller) leases() {
	id := v.opens(anna, testkit.On("w1"))
	runs := v.Start(anna, testkit.Task(testkit.Continue(id)), lasting(50*time.Second))
	time.Sleep(time.Second)
	v.store.fail("lease/")
	time.Sleep(20 * time.Second)
	// Another node has ended the lease.
	v.rewrite("lease/n1", func(r map[string]any) { r["over"] = true })
	v.store.fail()
	time.Sleep(20 * time.Second)
	v.answer(runs)
	v.does(anna, testkit.Continue(id))
	v.rewrite("session/"+id, func(r map[string]any) { r["node"], r["epoch"] = "n2", 7 })
	v.does(anna, testkit.Continue(id))
	time.Sleep(time.Second)
	for range 2 {
		v.restores(id, "n2")
	}
	v.does(anna, testkit.Continue(id))
	v.does(anna, testkit.Close(id))
}

// restores goes on with a session of another node.
func (v *traveller) restores(id, lost string) {
	v.asks("a restoring", func(ctx context.Context) error {
		_, err := v.Node.Restore(ctx, &actors.Restore{Session: id, Account: anna, Lost: lost})
		return err
	})
	time.Sleep(time.Minute)
}

// rewrite changes a record as another node would.
func (v *traveller) rewrite(key string, change func(map[string]any)) {
	found, err := v.store.Get(context.Background(), key)
	if err != nil { // a panic has kept it from being there
		return
	}
	var r map[string]any
	if err := json.Unmarshal(found.Value, &r); err != nil {
		v.t.Fatal(err)
	}
	change(r)
	if found.Value, err = json.Marshal(r); err != nil {
		v.t.Fatal(err)
	}
	_, err = v.store.Store.Put(context.Background(), persistence.Write{Key: key, Value: found.Value, Expires: found.Expires, Durable: true})
	if err != nil {
		v.t.Fatal(err)
	}
}
