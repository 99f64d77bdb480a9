package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/need"
)

// attached is a client of a test.
type attached struct {
	to    *testCluster
	sends chan []byte
	hears chan string
	holds atomic.Bool // it takes nothing
	ready chan struct{}
	over  chan engine.AttachEnd
	last  time.Time
	done  chan struct{}
	leave context.CancelCauseFunc
	x     *api.Executed
	err   error
}

var errLeft = errors.New("the client has left")

func (a *attached) Ready()                { close(a.ready) }
func (a *attached) Idle() time.Duration   { return time.Minute }
func (a *attached) Unused() time.Duration { return time.Since(a.last) }

func (a *attached) Read(ctx context.Context) ([]byte, error) {
	select {
	case b, more := <-a.sends:
		if !more {
			return nil, errLeft
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *attached) Write(b []byte) error {
	if a.holds.Load() {
		time.Sleep(time.Second)
		return errLeft
	}
	a.hears <- string(b)
	return nil
}

func (a *attached) Over(why engine.AttachEnd, last time.Time) {
	a.last = last
	a.over <- why
}

// echoes is a browser that sends each message back, by the worker's name. What it has written is
// counted.
func echoes(written *atomic.Int64) testkit.Script {
	return testkit.Script{Do: func(ctx context.Context, c testkit.Call) *engine.Outcome {
		k := c.Env.Client
		k.Ready()
		why, last := engine.AttachEnd("over"), time.Now()
		for ctx.Err() == nil {
			m, err := k.Read(ctx)
			if err != nil {
				if ctx.Err() == nil {
					why = engine.AttachLeft
				}
				break
			}
			if last = time.Now(); string(m) == "close" {
				why = "closed"
				break
			}
			for again := true; again; again = string(m) == "many" {
				b := fmt.Appendf(nil, "%s: %s", c.Browser.Worker(), m)
				if string(m) == "many" {
					b = append(b, make([]byte, 100<<10)...)
				}
				if err = k.Write(b); err != nil {
					break
				}
				written.Add(int64(len(b)))
			}
			if err != nil {
				why = engine.AttachSlow
				break
			}
		}
		k.Over(why, last)
		end := engine.EndCompleted
		if ctx.Err() != nil {
			end = engine.EndOf(ctx)
		}
		return &engine.Outcome{End: end, Data: []byte("{}")}
	}}
}

// attach sends a client to a session by a node.
func (to *testCluster) attach(h *testNode, session string, wait time.Duration) (*attached, *atomic.Int64) {
	to.t.Helper()
	task := engine.AttachTask(session)
	task.QueueTimeout = wait
	written := new(atomic.Int64)
	m := to.scripted(&api.Execute{Account: anna, Task: task, Asked: time.Now()}, echoes(written))
	a := &attached{to: to, sends: make(chan []byte), hears: make(chan string, 10_000), ready: make(chan struct{}), over: make(chan engine.AttachEnd, 1), done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.leave = cancel
	to.t.Cleanup(func() { cancel(nil) })
	go func() {
		defer close(a.done)
		a.x, a.err = h.Router.Attach(ctx, m, a)
	}()
	return a, written
}

func (a *attached) begins() {
	a.to.t.Helper()
	select {
	case <-a.ready:
	case <-a.done:
		a.to.t.Fatalf("the client is not let in: %v, %+v", a.err, a.x)
	case <-time.After(hang):
		a.to.t.Fatal("the client is not let in")
	}
}

// hear returns the next message for the client; false: it has ended.
func (a *attached) hear() (s string, there bool) {
	a.to.t.Helper()
	select {
	case s = <-a.hears:
		return s, true
	case <-a.done:
	case <-time.After(hang):
		a.to.t.Fatal("the client hears nothing, and has not ended")
	}
	select {
	case s = <-a.hears: // it came before the end
		return s, true
	default:
		return "", false
	}
}

// echo sends messages and hears each of them in their order, also a large one. False: the nodes
// have lost each other, as they may where the machine stands still for seconds.
func (a *attached) echo(worker string) bool {
	a.to.t.Helper()
	large := strings.Repeat("x", 3<<20)
	send := func(m string) {
		select {
		case a.sends <- []byte(m):
		case <-a.done:
		}
	}
	go func() {
		for k := range 2000 {
			send(fmt.Sprintf("message %d", k))
		}
		send(large)
		send("the last")
	}()
	for k := range 2002 {
		want := map[int]string{2000: large, 2001: "the last"}[k]
		if want == "" {
			want = fmt.Sprintf("message %d", k)
		}
		got, there := a.hear()
		if !there {
			a.to.t.Logf("before message %d the client has ended: %v, %+v", k, a.err, a.x)
			return false
		}
		if got != worker+": "+want {
			a.to.t.Fatalf("message %d is %.100q with %d bytes, want %.100q", k, got, len(got), want)
		}
	}
	return true
}

// ended waits for the end, and returns why and how the task has ended.
func (a *attached) ended() (engine.AttachEnd, engine.End) {
	a.to.t.Helper()
	select {
	case <-a.done:
	case <-time.After(hang):
		a.to.t.Fatal("the client is carried on")
	}
	if a.err != nil || a.x.Refusal != nil {
		a.to.t.Fatalf("%v, refused: %v", a.err, a.x.Refusal)
	}
	select {
	case why := <-a.over:
		return why, a.x.Outcome.End
	default:
		a.to.t.Fatal("nobody has said that it is over")
		return "", ""
	}
}

// TestClientsReachSessionsByAnyNode: whichever node a client is connected to, its messages come to
// the session in their order, also large ones, and so do the answers. It hears why it ends, and the
// session goes on.
//
// Promise: A client that attaches to a session may connect to any node (docs/attach.md#clusters).
func TestClientsReachSessionsByAnyNode(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 0)
	n2 := to.nodes[1]
	x := to.reserve(n2)
	for i, h := range to.nodes {
		a, _ := to.attach(h, x.SessionID, 5*time.Second)
		a.begins()
		for tries := 1; !a.echo(x.WorkerID); tries++ {
			if tries == 3 {
				t.Fatalf("by %s it was lost each time", h.name)
			}
			a, _ = to.attach(h, x.SessionID, 20*time.Second)
			a.begins()
		}
		if i == 0 { // one client at a time, also by different nodes
			b, _ := to.attach(n2, x.SessionID, 0)
			<-b.done
			if b.err != nil || b.x.Refusal == nil || b.x.Refusal.Code != engine.CodeSessionAttached {
				t.Errorf("a second client: %v, %+v", b.err, b.x)
			}
		}
		time.Sleep(50 * time.Millisecond)
		a.sends <- []byte("close")
		if why, end := a.ended(); why != "closed" || end != engine.EndCompleted || time.Since(a.last) > hang {
			t.Errorf("by %s it ends with %q, %q, and its last command came %v ago", h.name, why, end, time.Since(a.last))
		}

		a, _ = to.attach(h, x.SessionID, 5*time.Second)
		a.begins()
		close(a.sends)
		if why, end := a.ended(); why != engine.AttachLeft || end != engine.EndCompleted {
			t.Errorf("by %s one that leaves ends with %q, %q", h.name, why, end)
		}
		a, _ = to.attach(h, x.SessionID, 5*time.Second)
		a.begins()
		a.leave(engine.ErrCancelled)
		if why, end := a.ended(); why != "over" || end != engine.EndCancelled {
			t.Errorf("by %s one that is ended ends with %q, %q", h.name, why, end)
		}
		to.played(to.send(h, anna, strings.Replace(goOn(x.SessionID), "{", `{"queueTimeout":5000,`, 1), testkit.Script{}))
	}
	for name, a := range map[string]api.Account{"another account's": bert} {
		task := engine.AttachTask(x.SessionID)
		y, err := to.nodes[0].Router.Attach(context.Background(), &api.Execute{Account: a, Task: task}, &attached{})
		if err != nil || y.Refusal == nil || y.Refusal.Code != engine.CodeSessionMismatch {
			t.Errorf("%s client: %v, %+v", name, err, y)
		}
	}
	if !to.nodes[0].Router.EndClients(context.Background(), "a", "sess_n3", "taken_over") || to.nodes[0].Router.EndClients(context.Background(), "b", "sess_n3", "taken_over") || to.nodes[0].Router.EndClients(context.Background(), "a", "sess_n4", "taken_over") {
		t.Error("clients are not ended where they are")
	}
	if got := to.nodes[0].Router.SessionTicket(context.Background(), []byte("n3"), "sess_1", true); string(got) != "sess_1" {
		t.Errorf("a ticket of n3: %q", got)
	}
	if got := to.nodes[0].Router.SessionTicket(context.Background(), []byte("n4"), "sess_1", true); got != nil {
		t.Errorf("a ticket of nobody: %q", got)
	}
	for _, h := range to.nodes {
		if views, clients := h.Router.Carried(); views+clients > 0 {
			t.Errorf("%s still has %d views and %d clients", h.name, views, clients)
		}
	}
}

// TestSlowClientsAreBoundedByAnyNode: what is for a client that takes nothing waits at the browser,
// and not between the nodes.
func TestSlowClientsAreBoundedByAnyNode(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	x := to.reserve(to.nodes[1])
	a, written := to.attach(to.nodes[0], x.SessionID, 0)
	a.begins()
	a.holds.Store(true)
	a.sends <- []byte("many")
	if why, end := a.ended(); why != engine.AttachSlow || end != engine.EndCompleted {
		t.Errorf("it ends with %q, %q", why, end)
	}
	if n := written.Load(); n < 100<<10 || n > 4<<20 {
		t.Errorf("%d bytes were taken for it", n)
	}
}

// TestClientsOfALostNode: a client hears that the node of its session is lost, or stops, and
// reaches the session again by the same node, once it goes on at another one.
func TestClientsOfALostNode(t *testing.T) {
	need.Time(t)
	t.Parallel()
	for _, stops := range []bool{false, true} {
		to := newLeasedCluster(t, clusterLease, 0, 1, 1)
		n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
		x := to.reserve(n2)
		a, _ := to.attach(n1, x.SessionID, 0)
		a.begins()
		a.sends <- []byte("one")
		a.hear()
		want := engine.EndLost
		if stops {
			want = engine.EndInterrupted
			n2.Router.StopClients()
			go func() {
				n2.Node.Stop()
				n2.Router.Close()
			}()
		} else {
			to.dies(n2)
			n2.Crash()
		}
		began := time.Now()
		// A node that stops may be gone before its reason was asked for: the task's end gives it, too.
		if why, end := a.ended(); end != want || why != "" && (!stops || why != "over") {
			t.Errorf("it ends with %q, %q: want %q", why, end, want)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it ends after %v", took)
		}
		b, _ := to.attach(n1, x.SessionID, 20*time.Second)
		b.begins()
		b.sends <- []byte("two")
		if got, _ := b.hear(); !strings.HasSuffix(got, ": two") || to.nodeOf(strings.TrimSuffix(got, ": two")) != n3 {
			t.Errorf("again: %q", got)
		}
		close(b.sends)
		if _, end := b.ended(); end != engine.EndCompleted || !b.x.Outcome.Restored {
			t.Errorf("again: %+v", b.x.Outcome)
		}
	}
}

// TestClientsOfANodeThatCannotBeReached: where nobody can restore the session, its node is named.
func TestClientsOfANodeThatCannotBeReached(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 1, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	x := to.reserve(n2)
	to.dies(n2) // and still has the session
	a, _ := to.attach(n1, x.SessionID, 0)
	<-a.done
	if a.err != nil || a.x.Refusal == nil || a.x.Refusal.Code != engine.CodeSessionElsewhere || !strings.Contains(a.x.Refusal.Text, "n2") {
		t.Errorf("%v, %+v", a.err, a.x)
	}
}
