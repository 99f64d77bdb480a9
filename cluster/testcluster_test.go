package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// house is a node of a test: real actors with a scripted engine.
type house struct {
	*testkit.Kit
	*cluster.Router
	name    string
	uploads string // of other nodes' clients
	conn    *nats.Conn

	paused atomic.Bool
	cut    atomic.Bool // it does not reach the store
}

// door is what such a node shows to clients.
type door struct{ *house }

func (d door) Drains() bool                  { return d.paused.Load() }
func (d door) Pause(on bool)                 { d.paused.Store(on) }
func (d door) Looking(string) map[string]int { return map[string]int{"lnk_" + d.name: 1} }
func (d door) Status() api.Status {
	s := d.Node.Status()
	s.Draining = s.Draining || d.Drains()
	return s
}

// town is some nodes that hear each other.
type town struct {
	t      testing.TB
	houses []*house
	tasks  int
	store  persistence.Store // that they share; nil: each has its own
	lease  time.Duration     // on their sessions; zero: none
}

var anna, bert = testkit.Pro("anna"), testkit.Pro("bert")

// newTown starts nodes with so many workers each, and waits until all of them
// know all others.
func newTown(t testing.TB, workers ...int) *town {
	t.Helper()
	return (&town{t: t}).grow(workers...)
}

// newTownWith starts nodes that share a store, and hold leases on their sessions.
func newTownWith(t testing.TB, lease time.Duration, workers ...int) *town {
	t.Helper()
	return (&town{t: t, store: persistence.NewMemory(), lease: lease}).grow(workers...)
}

func (to *town) grow(workers ...int) *town {
	t := to.t
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, MaxPayload: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	for i, n := range workers {
		to.houses = append(to.houses, to.open(s, "n"+strconv.Itoa(i+1), n))
	}
	to.until("every node knows all workers", func() bool {
		for _, h := range to.houses {
			all, err := api.Ask(context.Background(), h.Router, &api.ListWorkers{Account: anna})
			want := 0
			for _, n := range workers {
				want += n
			}
			if err != nil || len(all.Workers) != want {
				return false
			}
			for _, w := range all.Workers {
				if w.State != api.Online {
					return false
				}
			}
		}
		return true
	})
	return to
}

func (to *town) open(s *server.Server, name string, workers int) *house {
	to.t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(s), nats.Name(name))
	if err != nil {
		to.t.Fatal(err)
	}
	to.t.Cleanup(conn.Close)
	h := &house{name: name, conn: conn, uploads: filepath.Join(to.t.TempDir(), "guests")}
	h.Router, err = cluster.NewRouter(cluster.RouterConfig{
		Conn: conn, Node: name, Version: "test", Uploads: h.uploads, Log: zerolog.Nop(),
	})
	if err != nil {
		to.t.Fatal(err)
	}
	var store persistence.Store
	if to.store != nil {
		store = lasting{to.store, &h.cut}
	}
	h.Kit = testkit.New(to.t, testkit.Options{Store: store, Specs: actors.SharedWorkers(name, workers), Config: func(c *actors.Config) {
		heard := c.OnChange
		c.Session.Lease = to.lease
		c.Node, c.OnChange = name, func(w api.WorkerInfo) { heard(w); h.Router.Changed(w) }
	}})
	if err := h.Open(h.Node, door{h}); err != nil {
		to.t.Fatal(err)
	}
	to.t.Cleanup(h.Router.Close)
	return h
}

func (to *town) until(what string, is func() bool) {
	to.t.Helper()
	for end := time.Now().Add(hang); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			to.t.Fatalf("it does not become so that %s", what)
		}
	}
}

// scripted gives a message a task's identifier, and tells every engine how it
// goes: whichever node plays it.
func (to *town) scripted(m *api.Execute, s testkit.Script) *api.Execute {
	to.tasks++
	m.TaskID = fmt.Sprintf("task_%d", to.tasks)
	for _, h := range to.houses {
		h.Engine.Script(m.TaskID, s)
	}
	return m
}

// parse makes a task as a client sends it: only such a one crosses nodes.
func parse(t testing.TB, body string, files ...engine.Upload) *engine.Task {
	t.Helper()
	task, err := engine.Parse([]byte(body), files)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

const (
	plain   = `{"actions":[{"wait":1}]}`
	patient = `{"queueTimeout":15000,"actions":[{"wait":1}]}` // it may wait until its node knows of a free worker
)

// going is a request that was sent.
type going struct {
	id    string
	done  chan struct{}
	leave context.CancelFunc
	x     *api.Executed
	err   error
	took  time.Duration
}

func (to *town) send(h *house, a api.Account, body string, s testkit.Script) *going {
	to.t.Helper()
	return to.sendTask(h, &api.Execute{Account: a, Task: parse(to.t, body)}, s)
}

func (to *town) sendTask(h *house, m *api.Execute, s testkit.Script) *going {
	m = to.scripted(m, s)
	ctx, cancel := context.WithCancel(context.Background())
	g := &going{id: m.TaskID, done: make(chan struct{}), leave: cancel}
	began := time.Now()
	go func() {
		defer close(g.done)
		defer cancel()
		g.x, g.err = h.Router.Execute(ctx, m)
		g.took = time.Since(began)
	}()
	return g
}

func (to *town) answer(g *going) *api.Executed {
	to.t.Helper()
	select {
	case <-g.done:
	case <-time.After(hang):
		to.t.Fatalf("%s gets no answer", g.id)
	}
	if g.err != nil {
		to.t.Fatalf("%s: %v", g.id, g.err)
	}
	return g.x
}

// played fails the test unless a task has ended well, and returns its node.
func (to *town) played(g *going) *house {
	to.t.Helper()
	x := to.answer(g)
	if x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
		to.t.Fatalf("%s: %+v, refused: %v", g.id, x.Outcome, x.Refusal)
	}
	return to.nodeOf(x.WorkerID)
}

func (to *town) nodeOf(worker string) *house {
	to.t.Helper()
	for _, h := range to.houses {
		for i := range 8 {
			if actors.WorkerID(h.name, i+1) == worker {
				return h
			}
		}
	}
	to.t.Fatalf("no node has the worker %q", worker)
	return nil
}

// plays is how often a task was played, on all nodes.
func (to *town) plays(task string) (n int) {
	for _, h := range to.houses {
		for _, p := range h.Engine.Plays() {
			if p.Task == task {
				n++
			}
		}
	}
	return n
}

// runs waits until a task is played at a node. Its worker is busy before: it may still
// be asking the node that the task came to whether it may begin.
func (to *town) runs(h *house, g *going) {
	to.t.Helper()
	to.until(fmt.Sprintf("%s runs on %s", g.id, h.name), func() bool { return h.Engine.Playing(g.id) })
}

// dies ends a node's connection as the end of its process does, and waits until there
// is nobody any more to whom a message for it goes: what was on its way is lost.
func (to *town) dies(h *house) {
	to.t.Helper()
	h.conn.Close()
	for _, o := range to.houses {
		if o == h {
			continue
		}
		to.until("nobody takes what "+o.name+" sends to "+h.name, func() bool {
			_, err := o.conn.Request("troupe.node."+h.name+".ping", nil, 100*time.Millisecond)
			return errors.Is(err, nats.ErrNoResponders) || o.conn.IsClosed()
		})
	}
}

// heard waits until a node knows of each other one what that has now. An answer may
// come before it, and what was told before the answer after it.
func (to *town) heard(h *house) {
	to.t.Helper()
	to.until(h.name+" knows what the others have", func() bool {
		for _, n := range h.Router.Nodes() {
			i := slices.IndexFunc(to.houses, func(o *house) bool { return o.name == n.Name })
			all, err := api.Ask(context.Background(), to.houses[i].Node, &api.SurveyWorkers{})
			if err != nil || !slices.EqualFunc(n.Workers, all.Workers, func(a, b api.WorkerInfo) bool {
				return a.ID == b.ID && a.State == b.State && a.TaskID == b.TaskID && a.Since.Equal(b.Since)
			}) {
				return false
			}
		}
		return true
	})
}

func (h *house) busy(n int) func() bool {
	return func() bool { return h.Node.Status().Busy == n }
}
