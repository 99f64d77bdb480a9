package actors

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/outcome"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// parsePlace reads the place of a record of the queue.
func parsePlace(key string) (backlog.Place, string, bool) { return backlog.ParseKey(key) }

// onStale takes a turn whose record says that a node has the task, or that it is over.
func (u *queue) onStale(task string, t *queuedTask, c *records.Claim) {
	if q := u.nodes; c.Runs() && q != nil { // an earlier turn, or one of another node that ordered the queue
		t.begun, t.q = true, c.Queued
		if t.cause == "" {
			t.cause = c.Task.Queue.Cancel
		}
		q.move(t, turnAt{node: c.Task.Node, boot: c.Task.Queue.Boot, turn: c.Task.Queue.Turn, sent: true, allowed: true})
		u.obey(task, t)
		u.wake(task)
		return
	}
	key, read, has := t.place.Key(task), &turnRead{task: task, wrote: t.place.Account}, records.Task{Status: api.TaskPending}
	if c.Task != nil {
		has = *c.Task
	}
	u.write(t.place.Account, func(ctx context.Context) error {
		switch queue := u.node.records.Queue(); {
		case c.Runs(): // the answer to its claim was lost: it has not begun
			return errors.Join(queue.Unclaim(ctx, has), errTurnOver)
		case has.Status != api.TaskPending && has.Queue != nil && has.Queue.Key == key:
			return queue.Finish(ctx, has, nil)
		default:
			return queue.Delete(ctx, key, false)
		}
	}, func(err error) any {
		read.err = cmp.Or(err, persistence.ErrNotFound) // it is in the queue no more
		return read
	})
}

// send hands a turn to its node. A task that names a worker or a session runs where that
// is.
func (q *queueNodes) send(u *queue, task string, t *queuedTask, parsed *engine.Task) {
	if parsed.WorkerID == "" && (parsed.Session == nil || parsed.Session.ID == "" && !parsed.Session.Override) {
		q.put(u, task, t)
		return
	}
	placed := &turnPlaced{task: task, t: t}
	x := &api.Execute{TaskID: task, Account: api.Account{ID: t.q.Account, Plan: t.q.Plan}, Task: parsed}
	q.node.onDisk(func(c context.Context) (err error) {
		placed.node, placed.no, err = q.node.cfg.Peers.Place(c, x)
		return err
	}, func(err error) {
		placed.err = err
		u.self(placed)
	})
}

func (q *queueNodes) onPlaced(u *queue, m *turnPlaced) {
	t := u.live[m.task]
	if t == nil || t != m.t {
		return
	}
	n := q.all[m.node]
	switch {
	case m.err != nil || m.no == nil && (n == nil || n.boot == ""):
		u.onStarted(&api.Started{TaskID: m.task, Refusal: api.Refuse(engine.CodeWorkerOffline, "")})
	case m.no != nil:
		u.onStarted(&api.Started{TaskID: m.task, Refusal: m.no})
	default:
		q.move(t, turnAt{node: n.name, boot: n.boot})
		q.put(u, m.task, t)
	}
}

func (q *queueNodes) put(u *queue, task string, t *queuedTask) {
	n := q.get(t.at.node)
	q.turns++ // so that they grow on the way to a node
	t.at.turn, t.at.sent = q.turns, true
	n.turns = append(n.turns, turnOut{api.QueueTurn{Task: task, Key: t.place.Key(task), Turn: t.at.turn}})
	q.flush(u, n)
}

// cancel passes on that a task is to end that its node has. It is repeated until the task is
// over: see [queueNodes.tick].
func (q *queueNodes) cancel(u *queue, task string, t *queuedTask) {
	n := q.get(t.at.node)
	if slices.ContainsFunc(n.cancels, func(c api.Cancel) bool { return c.TaskID == task }) {
		return
	}
	n.cancels = append(n.cancels, api.Cancel{TaskID: task, Account: api.Account{ID: t.place.Account}, Cause: t.cause})
	q.flush(u, n)
}

// tellWanted tells all nodes whether tasks wait.
func (q *queueNodes) tellWanted(u *queue) {
	for _, n := range q.all {
		n.told = false
		q.flush(u, n)
	}
}

// maxTurnsOut bounds the turns of one message.
const maxTurnsOut = 1000

// flush sends a node what is for it, one message after the other.
func (q *queueNodes) flush(u *queue, n *queueNode) {
	if n.sending || n.boot == "" || n.told && len(n.turns)+len(n.cancels) == 0 {
		return
	}
	count, cancels := min(len(n.turns), maxTurnsOut), min(len(n.cancels), maxTurnsOut)
	sent := &turnsSent{to: n, boot: n.boot, out: n.turns[:count:count]}
	m := &api.QueueTurns{Epoch: q.epoch, Boot: n.boot, Wanted: u.wanted, Cancel: n.cancels[:cancels:cancels]}
	for _, o := range sent.out {
		m.Turns = append(m.Turns, o.turn)
	}
	n.turns, n.cancels, n.sending, n.told = n.turns[count:], n.cancels[cancels:], true, true
	q.node.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), api.QueueTimeout)
		defer cancel()
		err := protect(func() error {
			x, err := askAt[api.QueueTurnsTaken](ctx, q.node, n.name, q.node.queue, m)
			sent.ok = err == nil && x.OK
			return err
		})
		sent.ok = sent.ok && err == nil
		u.self(sent)
	})
}

// onSent puts turns back that have not arrived. Should one arrive later, its task does
// not begin: its turn is over.
func (q *queueNodes) onSent(u *queue, m *turnsSent) {
	m.to.sending = false
	if !m.ok {
		m.to.told = false
		for _, o := range m.out {
			if t := u.live[o.turn.Task]; t != nil && t.at.turn == o.turn.Turn && !t.at.allowed && !t.begun && t.q != nil {
				u.putBack(o.turn.Task, u.after(again))
			}
		}
		if len(m.to.turns)+len(m.to.cancels) == 0 { // the answer to its next report says whether tasks wait
			return
		}
	}
	q.flush(u, m.to)
}

// answer answers a question about a task that a node has. False: it has to be read.
func (q *queueNodes) answer(u *queue, w *queueWait, t *queuedTask) bool {
	task, _, _ := w.about()
	_, follows := w.message.(*api.Follow)
	switch {
	case follows && !t.released && t.at.node != q.node.cfg.Node: // that one has its steps
		w.answer(u, &api.Polled{Status: api.TaskPending, Node: t.at.node})
	case time.Now().Before(w.until):
		u.park(w, task)
	default:
		return false
	}
	return true
}

// status reads what the records say of a task that does not wait.
func (q *queueNodes) status(c context.Context, u *queue, account, task string) (*api.Polled, error) {
	p, until, waits, err := q.node.records.Queue().Status(c, account, task)
	switch {
	case err != nil:
		return nil, err
	case waits:
		t, _, err := q.node.records.Queue().At(c, task)
		if errors.Is(err, persistence.ErrNotFound) || err == nil && t.Account != account {
			return &api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(task))}, nil
		} else if err != nil {
			return nil, err
		}
		return &api.Polled{Status: api.TaskPending, Queued: &api.QueuePlace{Position: 1}, Executed: t.Executed(nil)}, nil
	case !until.IsZero():
		u.node.statusCache.Remember(task, account, p, until)
	}
	p.Node = ""
	return p, nil
}

// fate is what has become of a task: it has ended, or waits at a place, or a process has
// it. Zero: it has not begun.
type fate struct {
	ended      bool
	key        string
	bytes      int64 // of its record in the queue
	node, boot string
	turn       uint64
}

// decide finds out what has become of a task that a process had which does not have it any
// more. If nothing is written of its end, it has ended so, and may begin again.
func (n *nodeParts) decide(ctx context.Context, p backlog.Place, task string, at turnAt, out *engine.Outcome) (fate, error) {
	queue := n.records.Queue()
	for {
		t, _, err := queue.At(ctx, task)
		switch {
		case errors.Is(err, persistence.ErrNotFound):
			_, bytes, err := queue.Lost(ctx, p.Account, task, p.Key(task))
			if errors.Is(err, persistence.ErrNotFound) {
				return fate{ended: true}, nil
			}
			return fate{bytes: bytes}, err
		case err != nil:
			return fate{}, err
		case t.Queue == nil:
			return fate{ended: true}, nil
		case t.Status != api.TaskPending:
			return fate{ended: true}, queue.Finish(ctx, t, nil)
		case t.Queue.Waiting:
			q, err := queue.Read(ctx, t.Queue.Key)
			if err != nil {
				return fate{}, err
			}
			return fate{key: t.Queue.Key, bytes: queue.Size(q)}, nil
		case t.Node != at.node || t.Queue.Boot != at.boot || t.Queue.Turn != at.turn:
			return fate{node: t.Node, boot: t.Queue.Boot, turn: t.Queue.Turn}, nil
		}
		f, err := n.decideOver(ctx, t, out)
		if !errors.Is(err, persistence.ErrConflict) {
			return f, err
		}
	}
}

// decideOver decides about a task whose record says that a process has it which does not have it
// any more: the end that was written, another attempt, or out.
func (n *nodeParts) decideOver(ctx context.Context, t records.Task, out *engine.Outcome) (fate, error) {
	queue, now := n.records.Queue(), time.Now()
	q, wrote, err := queue.Unfinished(ctx, t)
	if err != nil {
		return fate{}, err
	}
	if wrote != nil {
		out = wrote
	}
	if t.Cancelled() {
		out = outcome.Cancelled(out)
	} else if wrote == nil && q != nil {
		task, err := q.Parse()
		if err != nil {
			n.log.Error().Err(err).Str("task", t.ID).Msg("queued task not read")
		} else if after, again := backlog.Again(task.Queue, t.Queue.Attempts, outcome.Code(out)); again {
			p, _, _ := backlog.ParseKey(t.Queue.Key)
			n.waitAgain(&p, q, t.Queue.Attempts, after)
			f := fate{key: p.Key(t.ID), bytes: queue.Size(q)}
			n.log.Info().Str("task", t.ID).Str("node", t.Node).Int("attempts", q.Attempts).Msg("queued task begins again")
			return f, queue.Again(ctx, t, *q, f.key)
		}
	}
	t.Status, t.Ended, t.Lost = outcome.Polled(out.End), now, out.End == engine.EndLost
	found, err := queue.End(ctx, &records.Ending{Task: t, Queued: q, Outcome: out, Code: outcome.Code(out), Listed: n.orders.Order(now, now)})
	if err == nil && found == nil {
		n.tellEnd(t, out)
		if q != nil && q.Uploads != "" {
			_ = os.RemoveAll(q.Uploads)
		}
	}
	return fate{ended: true}, err
}
