package actors

import (
	"context"
	"time"

	"troupe/actors/backlog"
)

// A worker that has ended a task of the queue is not to wait until the next one is read and
// its claim is synced. So the queue of a node without others reads tasks before their turns
// come, and announces them: see [records.Ahead]. Which task is next is decided when a worker is
// free, as ever. A task that was not read ahead is read then.

// readAhead are tasks that were read before their turns.
type readAhead struct {
	ready   map[string]*turnRead // by the keys of their records
	reading bool
	missed  bool // a task had its turn that was not read ahead
	changed bool // since the last announcement
	writing bool // an announcement is being written
}

type (
	// aheadRead brings records of tasks that may be next.
	aheadRead struct{ all []*turnRead }
	// announced tells whether tasks are announced.
	announced struct {
		all []*turnRead
		err error
	}
)

const (
	// maxAhead bounds the tasks that are read ahead. After a loss of power so many may be taken
	// for begun that have not.
	maxAhead = 64
	// maxAheadBytes is how large the record of one may be.
	maxAheadBytes = 16 << 10
)

// take takes a task that was read ahead; nil: it is to be read now.
func (a *readAhead) take(key string) *turnRead {
	m := a.ready[key]
	delete(a.ready, key)
	switch {
	case m == nil:
		a.missed = true
	case !m.fit():
		return nil
	}
	return m
}

// fit reports whether a task can begin as it was read ahead. One that waits for a profile
// cannot, nor one of which something else is to be decided at its turn.
func (m *turnRead) fit() bool {
	return m.err == nil && m.bad == nil && !m.claim.Stale && !m.claim.Runs() && !m.parsed.Profile.Waits()
}

// readAhead reads tasks whose turn is near, where half of those are gone that were read.
func (u *queue) readAhead(now time.Time) {
	a, most := &u.ahead, min(max(u.room, 1), maxAhead)
	switch {
	case u.nodes != nil || u.over || a.reading || u.book.Len() == 0 || u.node.queueHeld.Load():
		return
	case len(a.ready) > most/2 && !a.missed:
		return
	}
	old := a.ready
	a.ready, a.missed = map[string]*turnRead{}, false
	var reads []*turnRead
	for _, f := range u.book.Ahead(now, most) {
		if m := old[f.Key]; m != nil {
			a.ready[f.Key] = m
		} else if _, task, ok := backlog.ParseKey(f.Key); ok && f.Size <= maxAheadBytes {
			reads = append(reads, &turnRead{task: task, key: f.Key})
		}
	}
	if len(reads) == 0 {
		return
	}
	a.reading = true
	u.node.onDisk(func(c context.Context) error {
		for _, m := range reads {
			m.err = u.node.explainLate(c, protect(func() error { return m.read(c, u.node, m.key) }))
		}
		return nil
	}, func(error) { u.self(&aheadRead{reads}) })
}

// onAheadRead keeps what was read. What is not fit is kept as well, so that it is not read
// ahead again and again.
func (u *queue) onAheadRead(m *aheadRead) {
	u.ahead.reading = false
	for _, r := range m.all {
		u.ahead.ready[r.key] = r
		u.ahead.changed = u.ahead.changed || r.fit()
	}
	u.announce()
}

// announce writes down which tasks may begin without a sync of their claims: those that were
// read ahead, and of earlier ones those that have no claim yet.
func (u *queue) announce() {
	if u.ahead.writing || !u.ahead.changed || u.over {
		return
	}
	u.ahead.writing, u.ahead.changed = true, false
	var all []*turnRead
	var keys []string
	for key, m := range u.ahead.ready {
		if m.fit() {
			all, keys = append(all, m), append(keys, key)
		}
	}
	for task, t := range u.live {
		if t.announced && !t.begun {
			keys = append(keys, t.place.Key(task))
		}
	}
	u.node.onDisk(func(c context.Context) error {
		return u.node.records.Queue().Announce(c, keys)
	}, func(err error) { u.self(&announced{all, err}) })
}

func (u *queue) onAnnounced(m *announced) {
	u.ahead.writing = false
	if m.err != nil { // their claims are synced, as others are
		u.node.log.Error().Err(m.err).Msg("tasks of the queue not announced")
		return
	}
	for _, r := range m.all {
		r.announced = true
	}
	u.announce()
}
