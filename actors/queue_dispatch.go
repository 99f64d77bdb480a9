package actors

import (
	"context"
	"time"

	"troupe/actors/backlog"
)

// free reports whether one more task may want a worker.
func (u *queue) free() bool {
	if u.nodes != nil {
		return u.nodes.serves() && u.nodes.freest() != nil
	}
	ending := len(u.live) - u.busy
	switch {
	case u.node.queueHeld.Load() || u.busy >= u.room || ending >= max(maxEnding, u.room):
		return false
	case len(u.adding) > 0: // clients wait, for the same store and the same processors
		return u.beginning+ending < maxBeside
	}
	return true
}

// maxEnding bounds the tasks that have been played and whose end is being written, unless
// there are more workers. A store that is slow holds the queue up.
const maxEnding = 256

// maxBeside bounds the tasks that are about to begin, and those whose end is being written,
// while clients wait for starts. Those that are being played do not count.
const maxBeside = 24

// dispatch takes tasks whose turn it is, for as many workers as there is room for.
func (u *queue) dispatch() {
	now := time.Now()
	var reads []*turnRead
	for !u.over && u.free() {
		p, task, ok := u.book.Next(now)
		if !ok {
			break
		}
		if old := u.live[task]; old != nil && !old.released { // it waits again, and that has not been heard of yet
			u.busy--
			u.nodes.release(old)
		}
		u.busy++
		u.beginning++
		t := &queuedTask{place: p, counted: true, cancelling: cancelling{cause: u.toCancel[task]}}
		delete(u.toCancel, task)
		u.live[task] = t
		if u.nodes != nil {
			u.nodes.take(t)
		}
		u.touched(task)
		if m := u.ahead.take(p.Key(task)); m != nil {
			t.announced = m.announced
			u.self(m)
			continue
		}
		if reads = append(reads, &turnRead{task: task, key: p.Key(task)}); len(reads) == readAtOnce {
			u.read(reads)
			reads = nil
		}
	}
	u.read(reads)
	u.readAhead(now)
	for _, l := range u.book.Wants() {
		read := &queueLoaded{load: l, found: []backlog.Found{}}
		u.node.onDisk(func(c context.Context) (err error) {
			read.found, err = u.node.records.Queue().Next(c, l)
			for i := range read.found {
				u.node.findWait(c, &read.found[i])
			}
			return err
		}, func(err error) {
			read.err = err
			u.self(read)
		})
	}
	if wanted := u.book.Len() > 0 || len(u.live) > 0; wanted != u.wanted {
		u.wanted = wanted
		if u.nodes != nil {
			u.nodes.tellWanted(u)
		} else {
			u.send(u.node.pool, &queueWanted{wanted})
		}
	}
	if u.nodes == nil || u.nodes.serves() {
		u.node.queued.Store(int64(u.book.Len()))
		u.node.queueOldest.Store(u.oldest(now))
	}
	u.wakeAt(now)
}

// oldest is since when the task may begin that has waited longest and has not begun, in
// milliseconds since 1970; zero: none waits.
func (u *queue) oldest(now time.Time) int64 {
	at := u.book.Oldest(now)
	for _, t := range u.live { // whose turn has come, and that no worker has yet
		if since := t.place.At(); !t.begun && !t.released && (at.IsZero() || since.Before(at)) {
			at = since
		}
	}
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// readAtOnce is how many turns are read one after the other.
const readAtOnce = 8

// read brings the records of tasks whose turn it is.
func (u *queue) read(all []*turnRead) {
	if len(all) == 0 {
		return
	}
	u.node.onDisk(func(c context.Context) error {
		for _, m := range all {
			m.err = u.node.explainLate(c, protect(func() error { return m.read(c, u.node, m.key) }))
			u.self(m)
		}
		return nil
	}, func(error) {})
}
