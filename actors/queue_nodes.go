package actors

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/lease"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/clock"
)

// queueNodes are the nodes that play tasks of a queue that this one orders. What it knows
// of them is what they report. No task begins without its agreement, and it agrees only
// while it holds the lease under which it took the queue: so of two nodes that believe
// that they order the queue, one decides.
type queueNodes struct {
	node  *nodeParts
	epoch uint64
	term  uint64 // of the lease
	all   map[string]*queueNode
	turns uint64
	timer *time.Timer
}

// queueNode is one of them.
type queueNode struct {
	name, boot string
	room, busy int
	heard      time.Time
	seq        uint64 // of its last event
	turns      []turnOut
	cancels    []api.Cancel
	told       bool // whether tasks wait
	sending    bool
	ending     bool // its lease is being waited for
}

type turnOut struct{ turn api.QueueTurn }

// turnAt is where the turn of a task is.
type turnAt struct {
	node, boot string
	turn       uint64
	sent       bool // its node has the turn, or gets it
	allowed    bool // it may have begun
	deciding   bool // what has become of it is being found out
	resumed    bool // see [backlog.Book.Resume]
}

type (
	// queueTick has the nodes looked at.
	queueTick struct{}
	// turnsSent tells whether a node has got turns.
	turnsSent struct {
		to   *queueNode
		boot string
		out  []turnOut
		ok   bool
	}
	// turnPlaced tells where a task has to run that names a worker or a session.
	turnPlaced struct {
		task string
		t    *queuedTask
		node string
		no   *api.Refusal
		err  error
	}
	// queueNodeLost tells that a node has no lease any more, or that it has.
	queueNodeLost struct {
		of  *queueNode
		err error
	}
	// fateFound tells what has become of a task that its node does not have any more.
	fateFound struct {
		task string
		t    *queuedTask
		fate fate
		err  error
	}
)

const (
	queueTickEvery = time.Second
	// quietAfter is how long after its last report a node gets no more turns, silentAfter
	// when its lease is waited for.
	quietAfter  = 3 * time.Second
	silentAfter = 5 * time.Second
)

func newQueueNodes(n *nodeParts, epoch, term uint64) *queueNodes {
	return &queueNodes{node: n, epoch: epoch, term: term, all: map[string]*queueNode{}, turns: epoch << 32}
}

// serves reports whether this node still orders the queue.
func (q *queueNodes) serves() bool { return q.node.leases.Serves(q.term) }

func (q *queueNodes) get(name string) *queueNode {
	n := q.all[name]
	if n == nil {
		n = &queueNode{name: name}
		q.all[name] = n
	}
	return n
}

// freest is the node with the most room; this one, where others have no more. Nil: none
// has any.
func (q *queueNodes) freest() (best *queueNode) {
	now, most := time.Now(), 0
	for _, n := range q.all {
		free := n.room - n.busy
		if now.Sub(n.heard) < quietAfter && (free > most || free == most && best != nil && n.name == q.node.cfg.Node) {
			best, most = n, free
		}
	}
	return best
}

// take books a worker for a task.
func (q *queueNodes) take(t *queuedTask) {
	n := q.freest()
	n.busy++
	q.turns++
	t.at = turnAt{node: n.name, boot: n.boot, turn: q.turns}
}

// release frees the worker of a task.
func (q *queueNodes) release(t *queuedTask) { q.get(t.at.node).busy-- }

// move has a task counted at another node.
func (q *queueNodes) move(t *queuedTask, to turnAt) {
	if !t.released {
		q.get(t.at.node).busy--
		q.get(to.node).busy++
	}
	to.resumed = t.at.resumed
	t.at = to
}

func (q *queueNodes) stop(*queue) {
	if q.timer != nil {
		q.timer.Stop()
	}
}

// receive handles what only the queue of several nodes gets.
func (q *queueNodes) receive(u *queue, ctx actor.Context) bool {
	switch m := ctx.Message().(type) {
	case *api.QueueReport:
		q.onReport(u, m)
		ctx.Respond(&api.QueueReported{Epoch: q.epoch, Wanted: u.wanted})
	case *api.QueueBegin:
		t := u.live[m.Task]
		ok := t != nil && t.at.node == m.Node && t.at.boot == m.Boot && t.at.turn == m.Turn &&
			!t.at.deciding && t.cause == "" && !u.gone[t.place.Account]
		if ok = ok && q.serves(); ok {
			t.at.allowed = true
		}
		ctx.Respond(&api.QueueBegins{Asked: q.serves(), OK: ok})
	case *queueTick:
		q.tick(u)
	case *turnsSent:
		q.onSent(u, m)
	case *turnPlaced:
		q.onPlaced(u, m)
	case *queueNodeLost:
		q.onLost(u, m)
	case *fateFound:
		q.onFate(u, m)
	default:
		return false
	}
	return true
}

// onReport takes in what a node tells.
func (q *queueNodes) onReport(u *queue, m *api.QueueReport) {
	n := q.get(m.Node)
	if n.boot != m.Boot {
		n.boot, n.seq = m.Boot, 0
		for task, t := range u.live {
			if t.at.node == n.name && t.at.boot != n.boot { // its process is gone
				q.gone(u, task, t, records.Interrupted())
			}
		}
	}
	n.heard, n.room = time.Now(), m.Room
	for i := range m.Events {
		if e := &m.Events[i]; e.Seq > n.seq {
			n.seq = e.Seq
			q.onEvent(u, n, e)
		}
	}
	for task, t := range u.live {
		// A turn that has arrived there, and is not there now, nobody has.
		if t.at.node == n.name && t.at.boot == n.boot && t.at.sent && t.at.turn <= m.Got && !slices.Contains(m.Has, task) {
			q.gone(u, task, t, records.Interrupted())
		}
	}
}

func (q *queueNodes) onEvent(u *queue, n *queueNode, e *api.QueueEvent) {
	task := e.Turn.Task
	t := u.live[task]
	if t == nil || t.at.node != n.name || t.at.boot != n.boot || t.at.turn != e.Turn.Turn {
		return
	}
	switch e.Change {
	case api.TurnBegan:
		t.at.allowed = true
		u.onStarted(&api.Started{TaskID: task})
	case api.TurnRefused:
		no := e.Refusal
		if no == nil {
			no = api.Refuse(engine.CodeNoWorkerAvailable, "")
		}
		if t.begun || t.q == nil { // an earlier word said that it had begun
			q.gone(u, task, t, records.Interrupted())
			return
		}
		u.onStarted(&api.Started{TaskID: task, Refusal: no})
	case api.TurnPlayed:
		u.release(task)
	case api.TurnEnded:
		u.finish(task)
	case api.TurnMoved:
		q.moved(u, task, t, e.Key, e.Bytes)
	default:
		q.gone(u, task, t, records.Interrupted())
	}
}

// tick looks for nodes that are gone.
func (q *queueNodes) tick(u *queue) {
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = u.later(queueTickEvery, &queueTick{})
	for task, t := range u.live {
		q.get(t.at.node)
		if t.begun || t.at.allowed {
			u.obey(task, t) // again: a message may have been lost
		}
	}
	now := time.Now()
	for _, n := range q.all {
		up := n.name == q.node.cfg.Node || q.node.cfg.Peers.Up(n.name)
		if up {
			q.flush(u, n) // whether tasks wait, where it has not been told
		}
		if up && now.Sub(n.heard) < silentAfter {
			continue
		}
		n.room = 0
		claimed := false
		for task, t := range u.live {
			switch {
			case t.at.node != n.name || t.at.deciding:
			case t.at.allowed || t.begun:
				claimed = true
			case t.q != nil: // it did not ask whether it may begin, and will not be let
				u.putBack(task, clock.Due{})
			}
		}
		if claimed && !n.ending {
			n.ending = true
			q.awaitLease(u, n)
		}
	}
}

// awaitLease waits until the lease of a node is over, unless the node renews it.
func (q *queueNodes) awaitLease(u *queue, n *queueNode) {
	of := &queueNodeLost{of: n}
	q.node.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), q.node.leases.Duration+restoreMargin)
		defer cancel()
		of.err = protect(func() error { return q.node.leases.WaitAndRevoke(ctx, n.name) })
		u.self(of)
	})
}

func (q *queueNodes) onLost(u *queue, m *queueNodeLost) {
	m.of.ending = false
	switch {
	case errors.Is(m.err, lease.ErrRenewed) || errors.Is(m.err, lease.ErrHeld): // it is there: the next tick looks again
		return
	case m.err != nil:
		q.node.log.Error().Err(m.err).Str("node", m.of.name).Msg("it is unknown whether a node still has its tasks of the queue")
		return
	}
	for task, t := range u.live {
		if t.at.node == m.of.name && (t.at.allowed || t.begun) {
			q.gone(u, task, t, &engine.Outcome{End: engine.EndLost})
		}
	}
}

// gone finds out what has become of a task that its process does not have any more. If
// its records do not say, it has ended so.
func (q *queueNodes) gone(u *queue, task string, t *queuedTask, out *engine.Outcome) {
	if t.at.deciding {
		return
	}
	t.at.deciding = true
	found := &fateFound{task: task, t: t}
	at := t.at
	q.node.onDisk(func(c context.Context) (err error) {
		found.fate, err = q.node.decide(c, t.place, task, at, out)
		return err
	}, func(err error) {
		found.err = err
		u.self(found)
	})
}

func (q *queueNodes) onFate(u *queue, m *fateFound) {
	t := u.live[m.task]
	if t == nil || t != m.t {
		return
	}
	t.at.deciding = false
	switch f := m.fate; {
	case m.err != nil: // the next tick or report brings it here again
		if !errors.Is(m.err, persistence.ErrNoQuorum) {
			q.node.log.Error().Err(m.err).Str("task", m.task).Msg("it is unknown what has become of a task of the queue")
		}
	case f.ended:
		u.finish(m.task)
	case f.key != "":
		q.moved(u, m.task, t, f.key, f.bytes)
	case f.node != "":
		t.begun = true
		t.kept = false // the record is another one
		q.move(t, turnAt{node: f.node, boot: f.boot, turn: f.turn, sent: true, allowed: true})
		u.obey(m.task, t)
	case t.released: // its place is in the book no more
		u.batchOf(t).Waits(m.task)
		u.forget(t, m.task)
		delete(u.live, m.task)
		u.touched(m.task)
		u.book.Adding(t.place, m.task, f.bytes)
		u.book.Added(t.place, m.task, f.bytes, f.bytes)
		u.cancelAgain(m.task, t)
		u.wake(m.task)
	default:
		t.begun = false
		u.batchOf(t).Waits(m.task)
		u.putBack(m.task, clock.Due{})
	}
}

// moved takes in that a task waits again.
func (q *queueNodes) moved(u *queue, task string, t *queuedTask, key string, bytes int64) {
	p, _, ok := parsePlace(key)
	u.release(task)
	u.forget(t, task)
	delete(u.live, task)
	u.touched(task)
	u.batchOf(t).Waits(task)
	if ok && !u.gone[p.Account] {
		u.book.Adding(p, task, bytes)
		u.book.Added(p, task, bytes, bytes)
		u.beginsAgain(p, task)
	}
	u.cancelAgain(task, t)
	u.wake(task)
}
