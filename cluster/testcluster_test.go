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
	"troupe/cluster/link"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// testNode is a node of a test: real actors with a scripted engine.
type testNode struct {
	*testkit.Kit
	*cluster.Router
	name    string
	uploads string // of other nodes' clients
	conn    *nats.Conn
	wire    *lossyServer // to it

	paused atomic.Bool
	cut    atomic.Bool // it does not reach the store
	frozen frozenPuts
}

// testEdge is what such a node shows to clients.
type testEdge struct{ *testNode }

func (d testEdge) Drains() bool                      { return d.paused.Load() }
func (d testEdge) Pause(on bool)                     { d.paused.Store(on) }
func (d testEdge) LinkViewers(string) map[string]int { return map[string]int{"lnk_" + d.name: 1} }
func (d testEdge) EndClients(account, session, why string) bool {
	return account == "a" && session == "sess_"+d.name && why != ""
}
func (d testEdge) SessionTicket(sum []byte, session string, use bool) []byte {
	if string(sum) != d.name || !use {
		return nil
	}
	return []byte(session)
}
func (d testEdge) Status() api.Status {
	s := d.Node.Status()
	s.Draining = s.Draining || d.Drains()
	return s
}

// testCluster is some nodes that hear each other.
type testCluster struct {
	t     testing.TB
	nodes []*testNode
	tasks int
	store persistence.Store                 // that they share; nil: each has its own
	lease time.Duration                     // on their sessions; zero: none
	files persistence.Files                 // that they share
	goes  func(testkit.Call) testkit.Script // how tasks go that have no script; nil: at once

	notices actors.NoticesConfig
	size    int

	server *server.Server         // between them
	speaks map[string]link.Speaks // by node: which releases it understands; none: this one's
}

var anna, bert = testkit.Pro("anna"), testkit.Pro("bert")

// newTestCluster starts nodes with so many workers each, and waits until all of them
// know all others.
func newTestCluster(t testing.TB, workers ...int) *testCluster {
	t.Helper()
	return (&testCluster{t: t}).grow(workers...)
}

// newLeasedCluster starts nodes that share a store, and hold leases on their sessions.
func newLeasedCluster(t testing.TB, lease time.Duration, workers ...int) *testCluster {
	t.Helper()
	return (&testCluster{t: t, store: persistence.NewMemory(), lease: lease}).grow(workers...)
}

func (to *testCluster) grow(workers ...int) *testCluster {
	t := to.t
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, MaxPayload: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	to.server, to.size = s, len(workers)
	for i, n := range workers {
		to.nodes = append(to.nodes, to.open(s, "n"+strconv.Itoa(i+1), n))
	}
	to.until("every node knows all workers", func() bool {
		for _, h := range to.nodes {
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

func (to *testCluster) open(s *server.Server, name string, workers int) *testNode {
	to.t.Helper()
	wire := &lossyServer{Server: s}
	conn, err := nats.Connect("", nats.InProcessServer(wire), nats.Name(name))
	if err != nil {
		to.t.Fatal(err)
	}
	to.t.Cleanup(conn.Close)
	h := &testNode{name: name, conn: conn, wire: wire, uploads: filepath.Join(to.t.TempDir(), "guests")}
	h.Router, err = cluster.NewRouter(cluster.RouterConfig{
		Conn: conn, Node: name, Version: "test", Uploads: h.uploads, Log: zerolog.Nop(), Speaks: to.speaks[name],
		Members: func() int { return to.size },
	})
	if err != nil {
		to.t.Fatal(err)
	}
	var store persistence.Store
	if to.store != nil {
		store = lasting{to.store, &h.cut, &h.frozen}
	}
	eng := testkit.NewEngine()
	eng.Default = to.goes
	if to.store != nil && to.files == nil {
		to.files = persistence.NewMemoryFiles()
	}
	h.Kit = testkit.New(to.t, testkit.Options{Store: store, Files: to.files, Engine: eng, Specs: actors.SharedWorkers(name, workers), Config: func(c *actors.Config) {
		heard := c.OnChange
		c.Session.Lease, c.Notices = to.lease, to.notices
		c.Profiles = persistence.NewProfiles(c.Store, c.Seal)
		c.Peers, c.QueuedUploads = h.Router, filepath.Join(filepath.Dir(h.uploads), "queued")
		c.Node, c.OnChange = name, func(w api.WorkerInfo) { heard(w); h.Router.Changed(w) }
	}})
	if err := h.Open(h.Node, testEdge{h}); err != nil {
		to.t.Fatal(err)
	}
	to.t.Cleanup(h.Router.Close)
	return h
}

func (to *testCluster) until(what string, is func() bool) {
	to.t.Helper()
	for end := time.Now().Add(hang); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			to.t.Fatalf("it does not become so that %s", what)
		}
	}
}

// scripted gives a message a task's identifier, and tells every engine how it
// goes: whichever node plays it.
func (to *testCluster) scripted(m *api.Execute, s testkit.Script) *api.Execute {
	to.tasks++
	m.TaskID = fmt.Sprintf("task_%d", to.tasks)
	for _, h := range to.nodes {
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

func (to *testCluster) send(h *testNode, a api.Account, body string, s testkit.Script) *going {
	to.t.Helper()
	return to.sendTask(h, &api.Execute{Account: a, Task: parse(to.t, body)}, s)
}

func (to *testCluster) sendTask(h *testNode, m *api.Execute, s testkit.Script) *going {
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

func (to *testCluster) answer(g *going) *api.Executed {
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
func (to *testCluster) played(g *going) *testNode {
	to.t.Helper()
	x := to.answer(g)
	if x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
		to.t.Fatalf("%s: %+v, refused: %v", g.id, x.Outcome, x.Refusal)
	}
	return to.nodeOf(x.WorkerID)
}

func (to *testCluster) nodeOf(worker string) *testNode {
	to.t.Helper()
	for _, h := range to.nodes {
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
func (to *testCluster) plays(task string) (n int) {
	for _, h := range to.nodes {
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
func (to *testCluster) runs(h *testNode, g *going) {
	to.t.Helper()
	to.until(fmt.Sprintf("%s runs on %s", g.id, h.name), func() bool { return h.Engine.Playing(g.id) })
}

// dies ends a node's connection as the end of its process does, and waits until there
// is nobody any more to whom a message for it goes: what was on its way is lost.
func (to *testCluster) dies(h *testNode) {
	to.t.Helper()
	h.conn.Close()
	for _, o := range to.nodes {
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
func (to *testCluster) heard(h *testNode) {
	to.t.Helper()
	to.until(h.name+" knows what the others have", func() bool {
		for _, n := range h.Router.Nodes() {
			i := slices.IndexFunc(to.nodes, func(o *testNode) bool { return o.name == n.Name })
			all, err := api.Ask(context.Background(), to.nodes[i].Node, &api.SurveyWorkers{})
			if err != nil || !slices.EqualFunc(n.Workers, all.Workers, func(a, b api.WorkerInfo) bool {
				return a.ID == b.ID && a.State == b.State && a.TaskID == b.TaskID && a.Since.Equal(b.Since)
			}) {
				return false
			}
		}
		return true
	})
}

func (h *testNode) busy(n int) func() bool {
	return func() bool { return h.Node.Status().Busy == n }
}
