package cluster_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/cluster"
	"troupe/engine"
	"troupe/testkit"
)

// house is a node of a test: real actors with a scripted engine.
type house struct {
	*testkit.Kit
	*cluster.Company
	name string
	conn *nats.Conn

	paused atomic.Bool
}

// town is some nodes that hear each other.
type town struct {
	t      testing.TB
	houses []*house
	tasks  int
}

var anna, bert = testkit.Pro("anna"), testkit.Pro("bert")

// newTown starts nodes with so many workers each, and waits until all of them
// know all others.
func newTown(t testing.TB, workers ...int) *town {
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, MaxPayload: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	to := &town{t: t}
	for i, n := range workers {
		to.houses = append(to.houses, to.open(s, "n"+strconv.Itoa(i+1), n))
	}
	to.until("every node knows all workers", func() bool {
		for _, h := range to.houses {
			all, err := h.Company.Workers(context.Background(), &actors.ListWorkers{Account: anna})
			want := 0
			for _, n := range workers {
				want += n
			}
			if err != nil || len(all.Workers) != want {
				return false
			}
			for _, w := range all.Workers {
				if w.State != actors.Online {
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
	h := &house{name: name, conn: conn}
	h.Company, err = cluster.NewCompany(cluster.CompanyConfig{
		Conn: conn, Node: name, Version: "test", Uploads: filepath.Join(to.t.TempDir(), "guests"), Log: zerolog.Nop(),
	})
	if err != nil {
		to.t.Fatal(err)
	}
	h.Kit = testkit.New(to.t, testkit.Options{Specs: actors.SharedWorkers(name, workers), Config: func(c *actors.Config) {
		heard := c.OnChange
		c.Node, c.OnChange = name, func(w actors.WorkerInfo) { heard(w); h.Company.Changed(w) }
	}})
	if err := h.Open(h.Node, h.paused.Load); err != nil {
		to.t.Fatal(err)
	}
	to.t.Cleanup(h.Company.Close)
	return h
}

func (to *town) until(what string, is func() bool) {
	to.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			to.t.Fatalf("it does not become so that %s", what)
		}
	}
}

// scripted gives a message a task's identifier, and tells every engine how it
// goes: whichever node plays it.
func (to *town) scripted(m *actors.Execute, s testkit.Script) *actors.Execute {
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

const plain = `{"actions":[{"wait":1}]}`

// going is a request that was sent.
type going struct {
	id    string
	done  chan struct{}
	leave context.CancelFunc
	x     *actors.Executed
	err   error
	took  time.Duration
}

func (to *town) send(h *house, a actors.Account, body string, s testkit.Script) *going {
	to.t.Helper()
	return to.sendTask(h, &actors.Execute{Account: a, Task: parse(to.t, body)}, s)
}

func (to *town) sendTask(h *house, m *actors.Execute, s testkit.Script) *going {
	m = to.scripted(m, s)
	ctx, cancel := context.WithCancel(context.Background())
	g := &going{id: m.TaskID, done: make(chan struct{}), leave: cancel}
	began := time.Now()
	go func() {
		defer close(g.done)
		defer cancel()
		g.x, g.err = h.Company.Execute(ctx, m)
		g.took = time.Since(began)
	}()
	return g
}

func (to *town) answer(g *going) *actors.Executed {
	to.t.Helper()
	select {
	case <-g.done:
	case <-time.After(20 * time.Second):
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

func (h *house) busy(n int) func() bool {
	return func() bool { return h.Node.Status().Busy == n }
}

// TestTasksGoWhereWorkersAreFree: local ones first, then the node with the most,
// then whichever frees first.
func TestTasksGoWhereWorkersAreFree(t *testing.T) {
	t.Parallel()
	to := newTown(t, 1, 1, 2)
	n1, n2, n3 := to.houses[0], to.houses[1], to.houses[2]
	long := testkit.Script{Takes: 20 * time.Second}
	var all []*going
	for i, want := range []*house{n1, n3, n2, n3} {
		g := to.send(n1, anna, plain, long)
		all = append(all, g)
		n := 1
		if i == 3 {
			n = 2
		}
		to.until(fmt.Sprintf("task %d runs on %s", i+1, want.name), want.busy(n))
		if i == 1 { // then both have one: by name, and what is known of it is not too old
			to.until("it is known", func() bool { return n1.Company.Status().Abroad == 3 })
			time.Sleep(100 * time.Millisecond)
		}
	}
	if x := to.answer(to.send(n1, anna, plain, long)); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable || x.Refusal.Elsewhere != nil {
		t.Errorf("the fifth got %+v", x)
	}

	waiting := to.send(n1, anna, `{"actions":[{"wait":1}],"queueTimeout":15000}`, testkit.Script{})
	to.until("it waits", func() bool { return n1.Node.Status().Waiting == 1 })
	all[2].leave() // the client of the task on n2 goes away
	if h := to.played(waiting); h != n2 {
		t.Errorf("who waited was played by %s, and n2 was free first", h.name)
	}
	for _, g := range all {
		g.leave()
	}
	for _, g := range all {
		if x := to.answer(g); x.Outcome.End != engine.EndCancelled {
			t.Errorf("the answer to who left: %+v", x.Outcome)
		}
	}
}

// TestNamesLeadToTheirNodes: a worker or a session is reached from anywhere, at
// once after it was opened.
func TestNamesLeadToTheirNodes(t *testing.T) {
	t.Parallel()
	to := newTown(t, 1, 1, 1)
	n1, n2, n3 := to.houses[0], to.houses[1], to.houses[2]
	named := fmt.Sprintf(`{"workerId":%q,"session":{"preserve":true},"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	x := to.answer(to.send(n1, anna, named, testkit.Script{}))
	if x.Refusal != nil || x.SessionID == "" || to.nodeOf(x.WorkerID) != n2 {
		t.Fatalf("the worker of n2, asked for at n1, answers %+v", x)
	}
	goOn := fmt.Sprintf(`{"session":{"id":%q},"actions":[{"wait":1}]}`, x.SessionID)
	for _, h := range []*house{n3, n1, n2} { // n3 cannot have heard of it
		if at := to.played(to.send(h, anna, goOn, testkit.Script{})); at != n2 {
			t.Errorf("from %s the session leads to %s", h.name, at.name)
		}
	}
	if x := to.answer(to.send(n3, bert, goOn, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("another account's session answers %+v", x)
	}
	shut := fmt.Sprintf(`{"session":{"id":%q,"close":true},"actions":[{"wait":1}]}`, x.SessionID)
	if at := to.played(to.send(n1, anna, shut, testkit.Script{})); at != n2 {
		t.Errorf("closed on %s", at.name)
	}
	n2.Until(actors.WorkerID("n2", 1), actors.Online)
	if x := to.answer(to.send(n3, anna, goOn, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("a session that is over answers %+v", x)
	}
}

// TestAnyNodeTellsOfATask: start, poll, follow and cancel from different nodes.
func TestAnyNodeTellsOfATask(t *testing.T) {
	t.Parallel()
	to := newTown(t, 0, 1, 0)
	n1, n2, n3 := to.houses[0], to.houses[1], to.houses[2]
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	start := func(s testkit.Script) string {
		t.Helper()
		m := to.scripted(&actors.Execute{Account: anna, Task: parse(t, `{"async":true,"actions":[{"wait":1}]}`)}, s)
		x, err := n1.Company.Start(ctx, m)
		if err != nil || x.Refusal != nil || to.nodeOf(x.WorkerID) != n2 {
			t.Fatalf("started: %+v, %v", x, err)
		}
		return x.TaskID
	}
	id := start(testkit.Script{Takes: time.Second, Steps: 3})
	for _, h := range []*house{n1, n3} {
		f, err := h.Company.Follow(ctx, &actors.Follow{TaskID: id, Account: anna, Wait: 10 * time.Second})
		if err != nil || f.Refusal != nil || len(f.Steps) == 0 {
			t.Fatalf("followed from %s: %+v, %v", h.name, f, err)
		}
		p, err := h.Company.Poll(ctx, &actors.Poll{TaskID: id, Account: anna, Wait: 10 * time.Second})
		if err != nil || p.Status != actors.TaskComplete || p.Executed.Outcome == nil || len(p.Executed.Outcome.Data) == 0 {
			t.Fatalf("polled from %s: %+v, %v", h.name, p, err)
		}
		if p, err = h.Company.Poll(ctx, &actors.Poll{TaskID: id, Account: bert}); err != nil || p.Refusal == nil || p.Refusal.Code != engine.CodeTaskNotFound {
			t.Errorf("another account is told from %s: %+v, %v", h.name, p, err)
		}
	}
	long := start(testkit.Script{Takes: time.Minute})
	if x, err := n3.Company.Cancel(ctx, &actors.Cancel{TaskID: long, Account: bert, Cause: actors.CauseAsked}); err != nil || x.Found {
		t.Errorf("another account's cancellation: %+v, %v", x, err)
	}
	if x, err := n3.Company.Cancel(ctx, &actors.Cancel{TaskID: long, Account: anna, Cause: actors.CauseAsked}); err != nil || !x.Found {
		t.Errorf("cancelled: %+v, %v", x, err)
	}
	if p, err := n1.Company.Poll(ctx, &actors.Poll{TaskID: long, Account: anna, Wait: 10 * time.Second}); err != nil || p.Status != actors.TaskFailed || p.Executed.Outcome.End != engine.EndCancelled {
		t.Errorf("the cancelled task: %+v, %v", p, err)
	}

	// A task that is waited for, on its way at another node, ends the same.
	g := to.send(n1, anna, `{"queueTimeout":15000,"actions":[{"wait":1}]}`, testkit.Script{Takes: time.Minute})
	to.until("it runs on n2", n2.busy(1))
	if x, err := n1.Company.Cancel(ctx, &actors.Cancel{TaskID: g.id, Account: anna, Cause: actors.CauseAsked}); err != nil || !x.Found {
		t.Errorf("cancelled: %+v, %v", x, err)
	}
	if x := to.answer(g); x.Outcome == nil || x.Outcome.End != engine.EndCancelled {
		t.Errorf("its answer: %+v", x)
	}
}

// TestDrainingNodesOfferNothing: their workers stay where they are.
func TestDrainingNodesOfferNothing(t *testing.T) {
	t.Parallel()
	to := newTown(t, 0, 1)
	n1, n2 := to.houses[0], to.houses[1]
	if h := to.played(to.send(n1, anna, plain, testkit.Script{})); h != n2 {
		t.Errorf("played on %s", h.name)
	}
	if !n1.Company.Status().Ready() {
		t.Error("a node without workers is not ready beside one that has some")
	}
	named := fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	n2.paused.Store(true)
	if x := to.answer(to.send(n1, anna, named, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeDraining {
		t.Errorf("a paused node answers %+v", x)
	}
	if x := to.answer(to.send(n1, anna, plain, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
		t.Errorf("beside a paused node: %+v", x)
	}
	n2.paused.Store(false)
	to.until("it takes tasks again", func() bool { return n1.Company.Status().Ready() })
	n2.Drain(time.Second)
	if x := to.answer(to.send(n1, anna, plain, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeNoWorkerAvailable {
		t.Errorf("got %+v", x)
	}
	to.until("it is known", func() bool { return !n1.Company.Status().Ready() })
}

// TestKeysMeet: requests with one key are played once, wherever they come in.
func TestKeysMeet(t *testing.T) {
	t.Parallel()
	to := newTown(t, 1, 1, 1)
	var wg sync.WaitGroup
	answers := make([]*actors.Executed, 9)
	ids := make([]string, len(answers))
	for i := range answers {
		m := to.scripted(&actors.Execute{Account: anna, Task: parse(t, plain)}, testkit.Script{Takes: 200 * time.Millisecond})
		m.Idempotency = actors.Idempotency{Key: "the key", Digest: []byte("same")}
		ids[i] = m.TaskID
		h := to.houses[i%3]
		wg.Go(func() {
			x, err := h.Company.Execute(context.Background(), m)
			if err != nil {
				t.Error(err)
			}
			answers[i] = x
		})
	}
	wg.Wait()
	plays := 0
	for i, id := range ids {
		plays += to.plays(id)
		if x := answers[i]; x == nil || x.Outcome == nil || x.TaskID != answers[0].TaskID {
			t.Errorf("answer %d: %+v", i, x)
		}
	}
	if plays != 1 {
		t.Errorf("played %d times", plays)
	}
}
