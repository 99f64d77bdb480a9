package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// lasting is a store that nodes share and none of them closes. One of them can be
// cut off from it.
type lasting struct {
	persistence.Store
	cut    *atomic.Bool
	frozen *frozenPuts
}

// frozenPuts lets writes of a node wait, however long their callers do: as those of a
// process that was stopped.
type frozenPuts struct {
	now    atomic.Pointer[frost] // nil: none waits
	waits  atomic.Int32
	landed atomic.Int32 // that have waited
}

// frost holds the writes of keys that begin so.
type frost struct {
	prefix string
	over   chan struct{}
}

func (f *frozenPuts) freeze(prefix string) { f.now.Store(&frost{prefix, make(chan struct{})}) }

func (f *frozenPuts) thaw() {
	if was := f.now.Swap(nil); was != nil {
		close(was.over)
	}
}

// reach waits, and reports whether it has.
func (f *frozenPuts) reach(key string) bool {
	now := f.now.Load()
	if now == nil || !strings.HasPrefix(key, now.prefix) {
		return false
	}
	f.waits.Add(1)
	defer f.waits.Add(-1)
	<-now.over
	return true
}

func (lasting) Close() error { return nil }

func (s lasting) reach(ctx context.Context) error {
	for s.cut.Load() {
		select {
		case <-ctx.Done():
			return persistence.ErrNoQuorum
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func (s lasting) Get(ctx context.Context, key string) (persistence.Record, error) {
	if err := s.reach(ctx); err != nil {
		return persistence.Record{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s lasting) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	if !s.frozen.reach(w.Key) {
		return s.Store.Put(ctx, w)
	}
	revision, err := s.Store.Put(context.WithoutCancel(ctx), w)
	if err == nil {
		s.frozen.landed.Add(1)
	}
	return revision, err
}

func (s lasting) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key, revision, durable)
}

func (s lasting) List(ctx context.Context, prefix string) ([]persistence.Record, error) {
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, prefix)
}

func (s lasting) Keys(ctx context.Context, prefix, after string, most int) ([]persistence.KeySize, error) {
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	return s.Store.Keys(ctx, prefix, after, most)
}

const clusterLease = 4 * time.Second // a machine may stand still for half of it

func goOn(session string) string {
	return fmt.Sprintf(`{"session":{"id":%q},"actions":[{"wait":1}]}`, session)
}

// reserve opens a session on a node, in which one task has been played.
func (to *testCluster) reserve(h *testNode) *api.Executed {
	to.t.Helper()
	x := to.answer(to.send(h, anna, fmt.Sprintf(`{"workerId":%q,"session":{"preserve":true},"actions":[{"wait":1}]}`, actors.WorkerID(h.name, 1)), testkit.Script{}))
	if x.Refusal != nil || x.SessionID == "" {
		to.t.Fatalf("no session: %+v", x)
	}
	return x
}

// goesOn fails the test unless the session's next task, sent to one node, is played
// on another with what the earlier tasks have left there.
func (to *testCluster) goesOn(h *testNode, body string, on *testNode, restored bool, traces int) *api.Executed {
	to.t.Helper()
	x := to.answer(to.send(h, anna, body, testkit.Script{}))
	if x.Refusal != nil {
		to.t.Fatalf("refused: %v", x.Refusal)
	}
	if x.WorkerID == "" {
		to.t.Fatalf("on no worker: %+v", x.Outcome)
	}
	if at := to.nodeOf(x.WorkerID); at != on || x.Outcome.Restored != restored || x.Outcome.End != engine.EndCompleted {
		to.t.Fatalf("on %s, restored %v: %+v", at.name, x.Outcome.Restored, x.Outcome)
	}
	if r, err := testkit.ResultOf(x.Outcome); err != nil || len(r.Before) != traces {
		to.t.Fatalf("its browser has the traces of %v (%v), want %d tasks", r.Before, err, traces)
	}
	return x
}

// TestSessionsOutliveTheirNode: a session whose node is dead goes on with what it
// had, on another node, under its old identifiers, and once; its node, started
// again, lets it be.
//
// Promise: A session survives the loss of its node
// (docs/cluster.md#when-a-node-is-lost).
func TestSessionsOutliveTheirNode(t *testing.T) {
	need.Time(t)
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 1, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	first := to.reserve(n1)
	to.goesOn(n3, goOn(first.SessionID), n1, false, 1)
	lost := to.send(n2, anna, goOn(first.SessionID), testkit.Script{Takes: time.Minute})
	to.until("it runs", func() bool { return n1.Worker(first.WorkerID).TaskID == lost.id })
	died := time.Now()
	n1.conn.Close()
	n1.Crash()
	if x := to.answer(lost); x.Outcome == nil || x.Outcome.End != engine.EndLost {
		t.Fatalf("what ran there: %+v", x)
	}

	if x := to.answer(to.send(n2, bert, goOn(first.SessionID), testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("another account: %+v", x)
	}
	x := to.goesOn(n2, goOn(first.SessionID), n2, true, 2)
	if took := time.Since(died); took < clusterLease*8/10 {
		t.Errorf("restored %v after the death of its node, within its lease", took)
	}
	if x.SessionID != first.SessionID || x.WorkerID == first.WorkerID {
		t.Errorf("restored as %+v", x)
	}
	to.goesOn(n3, goOn(first.SessionID), n2, false, 3)
	named := fmt.Sprintf(`{"workerId":%q,"session":{"id":%q},"actions":[{"wait":1}]}`, first.WorkerID, first.SessionID)
	to.goesOn(n3, named, n2, false, 4)
	other := fmt.Sprintf(`{"workerId":%q,"session":{"id":%q},"actions":[{"wait":1}]}`, actors.WorkerID("n3", 1), first.SessionID)
	if x := to.answer(to.send(n2, anna, other, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("with a worker that never was its own: %+v", x)
	}

	n1.Boot()
	if w := n1.Worker(actors.WorkerID("n1", 1)); w.State != api.Online || w.Session != "" {
		t.Errorf("its old worker, started again: %+v", w)
	}
	shut := fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, first.SessionID)
	if x := to.answer(to.send(n3, anna, shut, testkit.Script{})); x.Refusal != nil || x.SessionID != "" {
		t.Errorf("closed: %+v", x)
	}
	n2.Until(actors.WorkerID("n2", 1), api.Online)
	if x := to.answer(to.send(n3, anna, goOn(first.SessionID), testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeSessionMismatch {
		t.Errorf("a session that is over: %+v", x)
	}
	for _, prefix := range []string{"session/", "session-state/"} {
		if list, err := to.store.List(context.Background(), prefix); err != nil || len(list) > 0 {
			t.Errorf("left behind: %v, %v", list, err)
		}
	}
}

// TestWhoeverComesFirstRestores: clients that come back to all nodes at once find
// one session.
func TestWhoeverComesFirstRestores(t *testing.T) {
	need.Time(t)
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 1, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	x := to.reserve(n1)
	n1.Crash()
	to.dies(n1)
	var all []*going
	for _, h := range []*testNode{n2, n3, n2, n3} {
		all = append(all, to.send(h, anna, fmt.Sprintf(`{"session":{"id":%q},"queueTimeout":10000,"actions":[{"wait":1}]}`, x.SessionID), testkit.Script{}))
	}
	at, restored := map[string]int{}, 0
	for _, g := range all {
		x := to.answer(g)
		if x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
			t.Fatalf("%+v, %v", x, x.Refusal)
		}
		at[x.WorkerID]++
		if x.Outcome.Restored {
			restored++
		}
	}
	if len(at) != 1 || restored != 1 {
		t.Errorf("played on %v, restored %d times", at, restored)
	}
}

// TestAStoppedNodeGivesItsSessionsAway: at once, without a wait for its lease.
func TestAStoppedNodeGivesItsSessionsAway(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 1, 0, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	x := to.reserve(n1)
	n1.Node.Stop()
	n1.Router.Close()
	to.goesOn(n2, goOn(x.SessionID), n3, true, 1) // n2 has no worker for it
}

// TestANodeThatIsBackLetsGo: one that was cut off runs nothing for its sessions
// once its lease is over. When it is back it drops the one that another node has,
// with all that its browser had of it, and goes on with the other.
func TestANodeThatIsBackLetsGo(t *testing.T) {
	need.Time(t)
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 2, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	first, second := actors.WorkerID("n1", 1), actors.WorkerID("n1", 2)
	taken := to.reserve(n1)
	kept := n1.Kit.Do(bert, testkit.Task(testkit.Preserve(), testkit.On(second)), testkit.Script{})
	running := n1.Kit.Start(anna, testkit.Task(testkit.Continue(taken.SessionID)), testkit.Script{Takes: time.Minute})
	n1.WantState(first, api.Busy)

	n1.Router.Close() // for others it is gone
	n1.cut.Store(true)
	if x := running.Answer(); x.Outcome == nil || x.Outcome.End != engine.EndInterrupted {
		t.Errorf("what ran when the lease was over: %+v", x.Outcome)
	}
	n1.WantRefused(n1.Kit.Start(bert, testkit.Task(testkit.Continue(kept.SessionID)), testkit.Script{}), engine.CodeNoQuorum)
	to.goesOn(n2, goOn(taken.SessionID), n2, true, 1)
	if w := n1.Worker(first); w.Session != taken.SessionID {
		t.Errorf("who is cut off knows of it: %+v", w)
	}

	n1.cut.Store(false)
	n1.Until(first, api.Online)
	if r, err := testkit.ResultOf(n1.Kit.Do(anna, testkit.Task(testkit.On(first)), testkit.Script{}).Outcome); err != nil || len(r.Before) > 0 {
		t.Errorf("its browser still has %v (%v)", r.Before, err)
	}
	var y *api.Executed
	to.until("it knows what is still its own", func() bool {
		y = n1.Kit.Do(bert, testkit.Task(testkit.Continue(kept.SessionID)), testkit.Script{})
		return y.Refusal == nil || y.Refusal.Code != engine.CodeNoQuorum
	})
	if y.Refusal != nil || y.Outcome.End != engine.EndCompleted || y.Outcome.Restored {
		t.Errorf("the other session: %+v, %v", y.Outcome, y.Refusal)
	}
	n1.WantRefused(n1.Kit.Start(anna, testkit.Task(testkit.Continue(taken.SessionID)), testkit.Script{}), engine.CodeSessionMismatch)
	to.goesOn(n2, goOn(taken.SessionID), n2, false, 2)
}

// TestPlansKeepSessionsAtHome: where the operator says so.
func TestPlansKeepSessionsAtHome(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, clusterLease, 1, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	x := to.reserve(n1)
	limits := engine.DefaultLimits()
	l := limits[anna.Plan]
	l.SessionsStay = true
	limits[anna.Plan] = l
	n2.Node.SetLimits(limits)
	n1.Crash()
	to.dies(n1)
	y := to.answer(to.send(n2, anna, goOn(x.SessionID), testkit.Script{}))
	if y.Refusal == nil || y.Refusal.Code != engine.CodeWorkerOffline || !strings.Contains(y.Refusal.Text, "plan pro") {
		t.Errorf("got %+v", y.Refusal)
	}
}
