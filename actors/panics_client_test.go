package actors_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// scenario is one way of using a node, in which every request may fail.
type scenario struct {
	name   string
	config func(*actors.Config)
	do     func(*testClient)
}

// testClient uses a node. It minds only that it is answered.
type testClient struct {
	*testkit.Kit
	t     *testing.T
	store *faultyStore
}

// faultyStore fails when it is to.
type faultyStore struct {
	persistence.Store
	bad atomic.Pointer[func(key string) error]
}

func (s *faultyStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if f := s.bad.Load(); f != nil {
		if err := (*f)(w.Key); err != nil {
			return 0, err
		}
	}
	return s.Store.Put(ctx, w)
}

// fail lets writes of keys that begin so fail; nothing: all go well again.
func (s *faultyStore) fail(prefixes ...string) {
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

// run makes the scenario, and looks whether the node is all right after it. It
// reports whether all was well.
func (j scenario) run(t *testing.T, name string, s *spoiler) bool {
	t.Helper()
	return t.Run(j.name+"/"+name, func(t *testing.T) {
		store := &faultyStore{Store: persistence.NewMemory()}
		o := testkit.Options{Workers: 2, Store: store, LaunchTakes: 100 * time.Millisecond, Cold: true, Config: func(c *actors.Config) {
			c.Session.MaxAge, c.Browser.CheckEvery, c.Browser.MemoryEvery = 20*time.Minute, -1, time.Hour
			if j.config != nil {
				j.config(c)
			}
			s.config(c)
		}}
		if s.actor == "root" && s.kind == "*actor.Started" { // then no node comes up, and that is the answer
			wantNoNode(t, s)
			return
		}
		testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
			time.Sleep(2 * time.Minute)
			v := &testClient{k, t, store}
			j.do(v)
			s.end()
			v.isHealthy()
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

// isHealthy fails the test unless the node works as if nothing had happened.
func (v *testClient) isHealthy() {
	v.t.Helper()
	v.store.fail()
	if v.Node.Status().Draining {
		return
	}
	time.Sleep(30 * time.Minute) // every session's time is over, every back-off, every lingering
	if s := v.Node.Status(); s.Waiting != 0 || s.Sessions != 0 || s.Online != s.Workers || s.Workers != 2 || s.Queued != 0 {
		v.t.Errorf("in the end: %+v", s)
	}
	for _, w := range []string{"w1", "w2"} {
		r := v.Start(testkit.Pro("zoe"), testkit.Task(testkit.On(w)), second)
		if x := v.answer(r); x == nil || x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
			v.t.Errorf("%s in the end: %+v", w, x)
		}
	}
	p := v.async(testkit.Pro("zoe"), testkit.Task(), second)
	if p == nil || p.Refusal != nil || p.Status != api.TaskComplete {
		v.t.Errorf("an asynchronous task in the end: %+v", p)
	}
	if n := v.Node.Sessions(); n != 0 {
		v.t.Errorf("%d session actors in the end", n)
	}
}

// soonEnough bounds every answer: longer than any task, back-off or wait here.
const soonEnough = 3 * time.Minute

// answer waits for a request's answer, which may be anything.
func (v *testClient) answer(r *testkit.Request) *api.Executed {
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
func (v *testClient) asks(what string, f func(context.Context) error) {
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
func (v *testClient) async(a api.Account, t *engine.Task, s testkit.Script) (p *api.Polled) {
	v.t.Helper()
	started := v.starts(&api.Execute{Account: a, Task: t}, s)
	if started == nil || started.Refusal != nil {
		return nil
	}
	return v.polls(a, started.TaskID, time.Minute)
}

func (v *testClient) starts(x *api.Execute, s testkit.Script) (started *api.Started) {
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

func (v *testClient) polls(a api.Account, id string, wait time.Duration) (p *api.Polled) {
	v.t.Helper()
	v.asks("a poll", func(ctx context.Context) error {
		var err error
		p, err = api.Ask(ctx, v.Node, &api.Poll{TaskID: id, Account: a, Wait: wait})
		return err
	})
	return p
}

func (v *testClient) follows(a api.Account, id string, after int, wait time.Duration) {
	v.t.Helper()
	v.asks("a follower", func(ctx context.Context) error {
		_, err := api.Ask(ctx, v.Node, &api.Follow{TaskID: id, Account: a, After: after, Wait: wait})
		return err
	})
}

// opens returns the session that a request has left, or a made-up one.
func (v *testClient) opens(a api.Account, opts ...testkit.Option) string {
	v.t.Helper()
	x := v.answer(v.Start(a, testkit.Task(append(opts, testkit.Preserve())...), quick))
	if x == nil || x.SessionID == "" {
		return "none"
	}
	return x.SessionID
}

func (v *testClient) does(a api.Account, opts ...testkit.Option) {
	v.t.Helper()
	v.answer(v.Start(a, testkit.Task(opts...), quick))
}
