package actors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// queueMember is this node's part of a queue that one of several nodes orders. It plays
// the turns that it gets, and reports what becomes of them. On the node that orders the
// queue, it has a [queue] below it.
type queueMember struct {
	node   *nodeParts
	orders *actor.PID // the queue below; nil: another node orders it
	epoch  uint64     // the latest that was heard of
	room   int
	wanted bool
	over   bool

	turns   map[string]*heldTurn
	got     uint64
	events  []api.QueueEvent // that the node which orders the queue has not taken
	seq     uint64
	sending bool
	news    bool // there is more to report
	idle    int  // ticks without a report
	timer   *time.Timer
	flushes []flushWaiter
}

// heldTurn is a turn that this node has.
type heldTurn struct {
	turn    api.QueueTurn
	account string
	folder  string // of its files
	begun   bool
	moves   bool // the node that orders the queue may let it, or the next of its group, begin elsewhere
}

type (
	// queueTake makes this node the one that orders the queue.
	queueTake struct{ queue *queue } // read before, and handed on whole
	// queueDrop tells that it orders it no more.
	queueDrop struct{}
	// queueLapsed tells that the node's lease is over.
	queueLapsed struct{}
	// turnHere brings the records of a turn.
	turnHere struct {
		turn   api.QueueTurn
		claim  *records.Claim
		folder string
		err    error
	}
	// queueReported tells whether a report has arrived.
	queueReported struct {
		upTo uint64
		x    *api.QueueReported
		err  error
	}
	// movedHere tells whether a task of this node waits again on the disk.
	movedHere struct {
		m     *queuedAgain
		key   string
		q     records.Queued
		bytes int64
		err   error
	}
)

// reportEvery is how often a node reports where nothing changes, reportAgain when it does
// after one that was not taken, and idleReports how many reports are left out while there
// is nothing to do.
const (
	reportEvery = time.Second
	reportAgain = 200 * time.Millisecond
	idleReports = 10
)

func newQueueMember(n *nodeParts) *queueMember {
	return &queueMember{node: n, turns: map[string]*heldTurn{}}
}

func (q *queueMember) Receive(ctx actor.Context) {
	defer recoverIn(ctx, q.node, q)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		q.tick()
		return
	case *actor.Stopping:
		q.drop(ctx)
		q.stop()
		return
	case *queueTake:
		q.take(ctx, m)
	case *queueDrop:
		q.drop(ctx)
	case *queueTick:
		q.tick()
	case *queueRoom:
		q.room, q.news = m.Workers, true
	case *queueHold:
		q.news = true
	case *queueLapsed:
		q.lapsed()
	case *api.QueueTurns:
		q.onTurns(ctx, m)
	case *turnHere:
		q.onTurn(m)
	case *api.Started:
		q.onStarted(m)
	case *queuedPlayed:
		q.tell(m.Task, api.TurnPlayed)
	case *queuedOver:
		q.tell(m.Task, api.TurnEnded)
		q.forget(m.Task)
	case *queuedAgain:
		q.onAgain(m)
	case *movedHere:
		q.onMoved(m)
	case *cancelHere:
		q.onCancelHere(ctx, m)
	case *queueReported:
		q.onReported(m)
	case *flush:
		if m.Account == "" {
			q.over, q.news = true, true
		}
		q.flushes = append(q.flushes, flushWaiter{ctx.Sender(), m.Account})
	default:
		q.forOrder(ctx)
	}
	q.check()
	if q.news {
		q.report()
	}
}

// forOrder answers what the node that orders the queue has to know.
func (q *queueMember) forOrder(ctx actor.Context) {
	client := ctx.Sender()
	switch m := ctx.Message().(type) {
	case *enqueue:
		if q.orders == nil {
			ctx.Respond(&api.Started{TaskID: m.Execute.TaskID, Refusal: api.NotOrderedHere()})
			return
		}
		ctx.RequestWithCustomSender(q.orders, m, client)
	case *api.Cancel:
		q.onCancel(ctx, m)
	case *api.Poll, *api.Follow:
		q.onQuestion(&queueWait{client: client, message: m})
	}
}

func (q *queueMember) take(ctx actor.Context, m *queueTake) {
	q.drop(ctx)
	if q.over {
		return
	}
	u := m.queue
	name := fmt.Sprintf("order/%d", u.nodes.epoch)
	u.pid = q.node.system.NewLocalPID(q.node.queue.Id + "/" + name)
	pid, err := ctx.SpawnNamed(q.node.props(func() actor.Actor { return u }), name)
	if err != nil {
		q.node.log.Error().Err(err).Msg("the queue is not ordered: its actor was not started")
		return
	}
	q.orders = pid
	q.node.orderer.Store(pid)
	q.node.log.Info().Int("waiting", u.book.Len()).Uint64("epoch", u.nodes.epoch).Msg("this node orders the queue")
	q.news = true
}

func (q *queueMember) drop(ctx actor.Context) {
	if q.orders != nil {
		ctx.Poison(q.orders) // after the requests that it has been given, so that each is answered
		q.orders = nil
		q.node.orderer.Store(nil)
		q.node.queued.Store(0)
		q.node.queueOldest.Store(0)
	}
}

func (q *queueMember) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
}

// tick reports now and then: seldom, while nothing waits and nothing runs.
func (q *queueMember) tick() {
	q.stop()
	q.timer = time.AfterFunc(reportEvery, func() { q.send(q.node.queue, &queueTick{}) })
	if q.idle++; q.wanted || len(q.turns)+len(q.events) > 0 || q.idle >= idleReports {
		q.idle = 0
		q.report()
	}
}

// forget drops a turn that is over, with the copies of its files.
func (q *queueMember) forget(task string) {
	if t := q.turns[task]; t != nil && t.folder != "" {
		q.node.background.Go(func() { _ = os.RemoveAll(t.folder) })
	}
	delete(q.turns, task)
}

func (q *queueMember) send(to *actor.PID, m any) { q.node.system.Root.Send(to, m) }

// lapsed ends what another node may let begin again now.
func (q *queueMember) lapsed() {
	for task, t := range q.turns {
		if t.begun && t.moves {
			q.send(q.node.admission, &cancelRunning{&api.Cancel{TaskID: task, Account: api.Account{ID: t.account}, Cause: api.CauseLeaseLost}})
		}
	}
}

// onTurns takes turns.
func (q *queueMember) onTurns(ctx actor.Context, m *api.QueueTurns) {
	if m.Boot != q.node.boot || m.Epoch < q.epoch {
		ctx.Respond(&api.QueueTurnsTaken{})
		return
	}
	q.epoch = m.Epoch
	q.want(m.Wanted)
	for _, turn := range m.Turns {
		q.got = max(q.got, turn.Turn)
		if q.over || q.turns[turn.Task] != nil { // an earlier turn of it is not quite over
			q.event(turn, api.QueueEvent{Change: api.TurnRefused, Refusal: api.Refuse(engine.CodeNoWorkerAvailable, "")})
			continue
		}
		q.turns[turn.Task] = &heldTurn{turn: turn}
		read := &turnHere{turn: turn}
		q.node.onDisk(func(c context.Context) (err error) {
			read.claim, err = q.node.records.Queue().Turn(c, turn.Key, turn.Task)
			if err == nil && !read.claim.Stale && !read.claim.Runs() {
				read.folder, err = q.node.fetchFiles(c, read.claim.Queued, turn.Turn)
			}
			return err
		}, func(err error) {
			read.err = err
			q.send(q.node.queue, read)
		})
	}
	for i := range m.Cancel {
		q.send(q.node.admission, &cancelRunning{&m.Cancel[i]})
	}
	ctx.Respond(&api.QueueTurnsTaken{OK: true})
}

func (q *queueMember) want(wanted bool) {
	if wanted != q.wanted {
		q.wanted, q.news = wanted, true
		q.send(q.node.pool, &queueWanted{wanted})
	}
}

// onTurn starts a task.
func (q *queueMember) onTurn(m *turnHere) {
	t := q.turns[m.turn.Task]
	if t == nil {
		return
	}
	var task *engine.Task
	err := m.err
	t.folder = m.folder
	if errors.Is(err, errFilesGone) {
		q.event(t.turn, api.QueueEvent{Change: api.TurnRefused, Refusal: api.Refuse(engine.CodeInternal, "its files are gone")})
		q.forget(m.turn.Task)
		return
	}
	gone := errors.Is(err, persistence.ErrNotFound) || err == nil && (m.claim.Stale || m.claim.Runs())
	if err == nil && !gone {
		task, err = m.claim.Queued.Parse()
	}
	if gone || err != nil {
		change := api.TurnRefused
		if gone {
			change = api.TurnGone
		}
		q.tell(m.turn.Task, change)
		q.forget(m.turn.Task)
		return
	}
	for i := range task.Files {
		task.Files[i].Path = filepath.Join(m.folder, strconv.Itoa(i))
	}
	rec := m.claim.Queued
	place, _, _ := parsePlace(m.turn.Key)
	t.account, t.moves = rec.Account, rec.Attempts+1 < task.Queue.Attempts || task.Queue.Group != ""
	q.node.system.Root.RequestWithCustomSender(q.node.tasks, &startTask{
		Execute: &api.Execute{TaskID: rec.ID, Account: api.Account{ID: rec.Account, Plan: rec.Plan}, Task: task.AsText(), Asked: place.At(), Trace: rec.Trace, FromQueue: true, Schedule: rec.Schedule},
		queued:  &fromQueue{key: m.turn.Key, q: *rec, queue: task.Queue, turn: &t.turn, over: m.claim.Revision},
	}, q.node.queue)
}

func (q *queueMember) onStarted(m *api.Started) {
	t := q.turns[m.TaskID]
	if t == nil {
		return
	}
	if m.Refusal == nil {
		t.begun = true
		q.tell(m.TaskID, api.TurnBegan)
		return
	}
	no := *m.Refusal
	no.ForwardTo = nil
	q.event(t.turn, api.QueueEvent{Change: api.TurnRefused, Refusal: &no})
	q.forget(m.TaskID)
}

// onAgain has a task wait again that has an attempt left.
func (q *queueMember) onAgain(m *queuedAgain) {
	q.tell(m.Task.ID, api.TurnPlayed)
	place, _, _ := parsePlace(m.Task.Queue.Key)
	rec := m.q
	q.node.waitAgain(&place, &rec, m.Task.Queue.Attempts, m.After)
	q.move(&movedHere{m: m, key: place.Key(m.Task.ID), q: rec, bytes: q.node.records.Queue().Size(&rec)})
}

func (q *queueMember) move(m *movedHere) {
	q.node.onDisk(func(c context.Context) error {
		return q.node.records.Queue().Again(c, m.m.Task, m.q, m.key)
	}, func(err error) {
		m.err = err
		q.send(q.node.queue, m)
	})
}

func (q *queueMember) onMoved(m *movedHere) {
	task := m.m.Task.ID
	t := q.turns[task]
	switch {
	case m.err == nil && t != nil:
		q.event(t.turn, api.QueueEvent{Change: api.TurnMoved, Key: m.key, Bytes: m.bytes})
	case errors.Is(m.err, persistence.ErrConflict): // somebody else has decided
		q.tell(task, api.TurnGone)
	case m.err != nil && !q.over:
		q.node.log.Error().Err(m.err).Str("task", task).Msg("queued task not put back")
		time.AfterFunc(rewriteAfter, func() { q.move(m) })
		return
	}
	q.forget(task)
}
