package testkit

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit/leaks"
)

// Options is what a kit is started with.
type Options struct {
	Workers int                  // shared workers "w1", "w2" …, in addition to the Specs
	Specs   []api.WorkerSpec     // further ones
	Engine  *Engine              // nil: a new one
	Backend *Backend             // of a new engine; nil: its browsers are fake
	Store   persistence.Store    // nil: one in memory
	Files   persistence.Files    // nil: in memory
	Config  func(*actors.Config) // changes the rest of the configuration
	Cold    bool                 // do not wait until every worker is online

	LaunchTakes time.Duration // how long each browser of a new engine needs to start
}

// Kit is a running node with a scripted engine.
type Kit struct {
	T      testing.TB
	Node   *actors.Node
	Engine *Engine
	Store  persistence.Store
	Files  persistence.Files

	options Options
	seal    *persistence.Seal
	disk    *disk // what the present node has of the store and the files
	bubble  bool
	tasks   atomic.Int64

	mu      sync.Mutex
	states  map[string]api.WorkerInfo
	changed chan struct{} // closed at the next change of a worker
}

// patience is how long Until and Answer wait before they fail the test: fake
// time in a bubble.
const patience = 10 * time.Minute

// Run runs f with a kit in a bubble, where time is fake. The bubble has a
// testing.T of its own.
func Run(t *testing.T, o Options, f func(*testing.T, *Kit)) {
	t.Helper()
	leaks.Check(t)
	synctest.Test(t, func(t *testing.T) {
		k := start(t, o, true)
		defer k.stop()
		f(t, k)
	})
}

// New starts a kit in real time. It ends with the test.
func New(t testing.TB, o Options) *Kit {
	t.Helper()
	leaks.Check(t)
	k := start(t, o, false)
	t.Cleanup(k.stop)
	return k
}

func start(t testing.TB, o Options, bubble bool) *Kit {
	t.Helper()
	k := &Kit{T: t, Engine: o.Engine, Store: o.Store, Files: o.Files, options: o, bubble: bubble}
	if k.Engine == nil {
		k.Engine = NewEngine()
		k.Engine.Backend, k.Engine.LaunchTakes = o.Backend, o.LaunchTakes
	}
	if k.Store == nil {
		k.Store = persistence.NewMemory()
	}
	if k.Files == nil {
		k.Files = persistence.NewMemoryFiles()
	}
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatalf("start the kit: %v", err)
	}
	k.seal = seal
	k.boot(o.Cold)
	return k
}

// stop ends the node and checks what it leaves behind.
func (k *Kit) stop() {
	k.T.Helper()
	k.Node.Stop()
	if n := k.Engine.Open(); n != 0 {
		k.T.Errorf("%d browsers are open after the stop", n)
	}
	for _, f := range k.Engine.Faults() {
		k.T.Errorf("engine misused: %s", f)
	}
	if err := k.Store.Close(); err != nil {
		k.T.Errorf("close the store: %v", err)
	}
	if k.bubble {
		// A goroutine of the library that counts messages to actors that have
		// ended lives a second longer than they.
		time.Sleep(2 * time.Second)
	}
}

// workerChanged records a change of a worker. A change from an earlier node is
// late and is ignored.
func (k *Kit) workerChanged(d *disk, w api.WorkerInfo) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d != k.disk {
		return
	}
	k.states[w.ID] = w
	close(k.changed)
	k.changed = make(chan struct{})
}

// Worker returns the last report of a worker.
func (k *Kit) Worker(id string) api.WorkerInfo {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w, ok := k.states[id]; ok {
		return w
	}
	return api.WorkerInfo{ID: id, State: api.Offline}
}

// Until waits until a worker is in a state. It returns at once if it is.
func (k *Kit) Until(worker string, s api.State) {
	k.T.Helper()
	k.until(worker, "become "+string(s), func(now api.State) bool { return now == s })
}

func (k *Kit) until(worker, what string, is func(api.State) bool) {
	k.T.Helper()
	most := time.NewTimer(patience)
	defer most.Stop()
	for {
		k.mu.Lock()
		now, news := k.states[worker].State, k.changed
		k.mu.Unlock()
		if now == "" {
			now = api.Offline
		}
		if is(now) {
			return
		}
		select {
		case <-news:
		case <-most.C:
			k.T.Fatalf("%s is %s and does not %s", worker, now, what)
		}
	}
}

// newTask returns the next task id. It is not random, so that the output of a
// failed test can be compared with the last one's.
func (k *Kit) newTask() string { return "task_" + strconv.FormatInt(k.tasks.Add(1), 10) }

// Start sends a task that goes as the script says, and does not wait for it.
func (k *Kit) Start(a api.Account, t *engine.Task, s Script) *Request {
	return k.Send(&api.Execute{Account: a, Task: t}, s)
}

// Send is Start for a whole message. It gives the task an id if it has none.
func (k *Kit) Send(x *api.Execute, s Script) *Request {
	x = k.scripted(x, s)
	ctx, leave := context.WithCancel(context.Background())
	r := &Request{ID: x.TaskID, Account: x.Account, kit: k, leave: leave, done: make(chan struct{})}
	node := k.Node
	go func() {
		defer close(r.done)
		defer leave()
		r.answer, r.err = node.Execute(ctx, x)
	}()
	return r
}

func (k *Kit) scripted(x *api.Execute, s Script) *api.Execute {
	copied := *x
	if copied.TaskID == "" {
		copied.TaskID = k.newTask()
	}
	k.Engine.Script(copied.TaskID, s)
	return &copied
}

// Do sends a task and waits for its answer.
func (k *Kit) Do(a api.Account, t *engine.Task, s Script) *api.Executed {
	k.T.Helper()
	return k.Start(a, t, s).Answer()
}

// Drain stops the node as a service does at the end, and waits for it.
func (k *Kit) Drain(grace time.Duration) *api.Drained {
	k.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := k.Node.Drain(ctx, grace)
	if err != nil {
		k.T.Fatalf("drain: %v", err)
	}
	return d
}
