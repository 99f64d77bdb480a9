package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/persistence"
	"troupe/persistence/clock"
)

// queue gives waiting tasks to workers: as many at once as pool leaves it. What waits
// is on the disk, in the order in which it runs; queue has in memory what is about to
// run. No task of it is with a worker before its record says that it begins.
type queue struct {
	node *nodeParts
	book *backlog.Book
	room int // workers that its tasks may have at once
	busy int // that they want or have
	// beginning is how many of those are not being played yet. Of several nodes it says nothing.
	beginning int
	over      bool // the node stops

	live    map[string]*queuedTask // were taken, until their end is written
	ending  map[string]bool        // were cancelled while they waited: it is being written
	lost    map[string]bool        // their turn has come, and they cannot be opened: they are in no book
	files   map[string]uint64      // numbers of cleanups of files, by task
	gone    map[string]bool        // accounts that were removed
	writes  map[string]int         // by account: what is being written
	adding  map[*entryAdded]bool   // are being written
	cancels map[any]*actor.PID     // who waits for a cancellation, by what is being read or written for it
	// cancelWaits are those who wait for a cancellation of a task that has its turn, or whose
	// end is being written, by task; toCancel the tasks that end when their turn comes.
	cancelWaits map[string][]*actor.PID
	toCancel    map[string]api.Cause
	waits       map[string][]*queueWait
	// profileWaits end the waits for profiles, by account and name.
	profileWaits map[string]context.CancelFunc
	reading      map[string]*queueReads
	flushes      []flushWaiter
	ahead        readAhead
	wanted       bool // pool knows that tasks wait
	pid          *actor.PID
	nodes        *queueNodes // that play its tasks; nil: this node alone does
	handled      bool        // the present message is: the rest can be done again without it
	timer        *time.Timer
}

// queuedTask is a task whose turn has come.
type queuedTask struct {
	place    backlog.Place
	q        *records.Queued // nil until it is read
	begun    bool
	counted  bool   // in queue.beginning
	released bool   // it wants no worker any more
	moving   bool   // that it waits again is being written: see [queue.onMoved]
	leaving  bool   // its record is being removed: see [queue.giveBack]
	profile  string // that it waits for, once it is read; empty: none
	grouped  bool   // it names a group, which others of its profile need not be in
	// announced tells that it may begin before its claim is synced.
	announced bool
	at        turnAt // of several nodes
	cancelling
}

func newQueue(n *nodeParts, book *backlog.Book) *queue {
	return &queue{
		node: n, pid: n.queue, book: book, live: map[string]*queuedTask{}, ending: map[string]bool{}, lost: map[string]bool{}, files: map[string]uint64{}, gone: map[string]bool{},
		writes: map[string]int{}, adding: map[*entryAdded]bool{}, cancels: map[any]*actor.PID{}, waits: map[string][]*queueWait{}, reading: map[string]*queueReads{},
		profileWaits: map[string]context.CancelFunc{}, cancelWaits: map[string][]*actor.PID{}, toCancel: map[string]api.Cause{},
		ahead: readAhead{ready: map[string]*turnRead{}},
	}
}

type (
	// queueRoom tells how many workers queued tasks may have at once.
	queueRoom struct{ Workers int }
	// queueWanted tells pool whether tasks wait in the queue.
	queueWanted struct{ Wanted bool }
	// queueHold tells that the queue was held, or goes on.
	queueHold struct{}
	// queueTurn tells that the time of a task has come.
	queueTurn struct{}
	// queueLoaded answers the question for the next keys of a lane.
	queueLoaded struct {
		load  backlog.Load
		found []backlog.Found
		err   error
	}
)

func (u *queue) Receive(ctx actor.Context) {
	defer recoverIn(ctx, u.node, u)
	u.handled = false
	switch m := ctx.Message().(type) {
	case *actor.Started: // there may be tasks of an earlier process
		if u.nodes != nil {
			u.nodes.tick(u)
		}
	case *actor.Stopping:
		u.stop()
		return
	case *enqueue:
		u.onEnqueue(ctx, m)
	case *entryAdded:
		u.onAdded(m)
	case *queueRoom:
		u.room = m.Workers
	case *queueHold:
	case *queueTurn:
		u.timer = nil
	case *queueLoaded:
		if m.err != nil {
			u.node.log.Error().Err(m.err).Msg("queue not read")
			u.later(again, &queueLoaded{load: m.load})
			return
		}
		u.book.Loaded(m.load, m.found, m.found == nil)
	case *turnRead:
		u.onTurn(m)
	case *profileFree:
		u.onProfileFree(m)
	case *aheadRead:
		u.onAheadRead(m)
	case *announced:
		u.onAnnounced(m)
	case *api.Started:
		u.onStarted(m)
	case *queuedPlayed:
		u.release(m.Task)
	case *queuedAgain:
		u.onAgain(m)
	case *queuedMoved:
		u.onMoved(m)
	case *queuedOver:
		u.finish(m.Task)
	case *waitingEnded:
		u.onWaitingEnded(m)
	case *cancelTaskHeard:
		u.onCancelTaskHeard(m)
	case *cancelKept:
		u.onCancelKept(m)
	case *cancelFound:
		u.onCancelFound(m)
	case *placeRead:
		u.onPlaceRead(m)
	case *givenBack:
		u.onGivenBack(m)
	case *queueWaited:
		u.onWaited(m.wait)
	case *flush:
		u.onFlush(ctx, m)
	case *api.Cancel:
		u.onCancel(m, ctx.Sender())
	case *api.Poll, *api.Follow:
		u.onQuestion(&queueWait{client: ctx.Sender(), message: m})
	default:
		if u.nodes == nil || !u.nodes.receive(u, ctx) {
			return
		}
	}
	u.handled = true
	u.dispatch()
	u.check()
}

// wakeAt has the queue look again when the next task may begin that may not yet.
func (u *queue) wakeAt(now time.Time) {
	if u.over || !u.free() || u.book.Looked(u.timer != nil) {
		return
	}
	at := u.book.NextAt(now)
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	if !at.IsZero() {
		u.timer = u.later(clock.Soon(at.Sub(now)+time.Millisecond), &queueTurn{})
	}
}

// past says that a task is no longer about to begin.
func (u *queue) past(t *queuedTask) {
	if t.counted {
		t.counted = false
		u.beginning--
	}
}

// release says that a task wants no worker any more.
func (u *queue) release(task string) {
	if t := u.live[task]; t != nil && !t.released {
		u.past(t)
		t.released = true
		u.busy--
		u.book.Ended(task)
		if u.nodes != nil {
			u.nodes.release(t)
		}
		u.leaveProfile(t)
	}
}

// putBack returns a task that has not begun to its place.
func (u *queue) putBack(task string, until clock.Due) {
	t := u.live[task]
	if t == nil || t.released {
		return
	}
	u.past(t)
	t.released = true
	u.busy--
	u.book.PutBack(task, until)
	if u.nodes != nil {
		u.nodes.release(t)
	}
	u.forget(t, task)
	delete(u.live, task)
	u.cancelAgain(task, t)
}

// finish forgets a task whose end is written, or is not to be.
func (u *queue) finish(task string) {
	t := u.live[task]
	if t == nil {
		return
	}
	u.release(task)
	u.forget(t, task)
	delete(u.live, task)
	u.touched(task)
	u.overFor(task, t)
	u.cleanUp(task, t.q)
	u.cancelsOver(task)
	u.wake(task)
}

// forget lets the key of a task be one of the book again that was taken over while a node had it.
func (u *queue) forget(t *queuedTask, task string) {
	if t.at.resumed {
		t.at.resumed = false
		u.book.Removed(t.place, task)
	}
}

// onFlush answers when nothing of an account, or of all, is being written or runs.
func (u *queue) onFlush(ctx actor.Context, m *flush) {
	if m.Account == "" {
		u.over = true
	} else {
		u.gone[m.Account] = true
		u.book.Forget(m.Account)
	}
	u.flushes = append(u.flushes, flushWaiter{ctx.Sender(), m.Account})
}

func (u *queue) check() {
	kept := u.flushes[:0]
	for _, f := range u.flushes {
		if u.works(f.account) {
			kept = append(kept, f)
			continue
		}
		u.send(f.sender, &flushed{})
	}
	u.flushes = kept
}

// works reports whether something of an account, or of any, is under way.
func (u *queue) works(account string) bool {
	switch {
	case account == "" && u.nodes != nil: // its tasks go on at other nodes
		return len(u.writes)+len(u.ending) > 0
	case account == "":
		return len(u.live)+len(u.writes)+len(u.ending) > 0
	case u.nodes != nil: // each node ends its own
		return u.writes[account] > 0
	}
	for _, t := range u.live {
		if t.place.Account == account {
			return true
		}
	}
	return u.writes[account] > 0
}

// write writes something of an account, and then sends the message.
func (u *queue) write(account string, f func(context.Context) error, then func(error) any) {
	u.writes[account]++
	u.node.onDisk(f, func(err error) { u.self(then(err)) })
}

// The queue sends without its context: what it has done of a message is not to depend
// on who gets the answer.
func (u *queue) send(to *actor.PID, m any) { u.node.system.Root.Send(to, m) }

func (u *queue) self(m any) { u.send(u.pid, m) }

func (u *queue) pass(to *actor.PID, m any, sender *actor.PID) {
	u.node.system.Root.RequestWithCustomSender(to, m, sender)
}

func (u *queue) later(d time.Duration, m any) *time.Timer {
	return time.AfterFunc(d, func() { u.self(m) })
}

func (u *queue) written(account string) {
	if u.writes[account]--; u.writes[account] <= 0 {
		delete(u.writes, account)
	}
}

// stop answers who waits: nothing that is under way is heard of any more.
func (u *queue) stop() {
	if u.nodes != nil {
		u.nodes.stop(u)
	}
	if u.timer != nil {
		u.timer.Stop()
	}
	for m := range u.adding { // its record may come to be all the same
		x := m.add.Execute
		u.send(m.client, &api.Started{TaskID: x.TaskID, Refusal: api.RefusalFor(persistence.ErrNoQuorum)})
	}
	for _, client := range u.cancels {
		u.cancelUnknown(client)
	}
	for _, cancel := range u.profileWaits {
		cancel()
	}
	for task := range u.cancelWaits {
		u.answerCancels(task, u.cancelUnknown)
	}
	for task := range u.waits {
		for _, w := range u.waits[task] {
			w.timer.Stop()
			w.answer(u, &api.Polled{Status: api.TaskPending, Queued: &api.QueuePlace{}})
		}
	}
}
