package backlog

import (
	"slices"
	"time"

	"troupe/persistence/clock"
)

// moment is when the book is asked: by the clock that nobody can set, and by the wall.
type moment struct {
	clock     *clock.Clock
	now, wall time.Time
}

func (m moment) came(d clock.Due) bool { return m.clock.Came(d, m.now) }

// mayBegin reports whether the time of a task has come.
func (m moment) mayBegin(it item) bool {
	if it.begins != nil {
		return m.came(*it.begins)
	}
	p, _, ok := ParseKey(it.key)
	return !ok || !p.At().After(m.wall)
}

// early is the index of the first task of the window whose key says that it may not begin yet.
func (l *lane) early(at moment) int {
	if at.wall.UnixMilli() < 0 {
		return 0
	}
	from := Place{l.Lane, uint64(at.wall.UnixMilli()+1) << counterBits}.Key("")
	i, _ := slices.BinarySearchFunc(l.window, from, func(it item, key string) int { return compare(it.key, key) })
	return i
}

// see looks at the clock. Where the wall clock was set back, tasks whose time had come may
// begin all the same: their keys say nothing about that any more.
func (b *Book) see(now time.Time) moment {
	at := moment{b.clock, now, b.clock.At(now)}
	if before := b.showed; at.wall.Before(before) {
		was := moment{b.clock, now, before}
		for _, a := range b.accounts {
			for _, l := range a.lanes {
				l.free(was)
			}
		}
		b.soonest = time.Time{}
	}
	b.showed = at.wall
	return at
}

// free lets the tasks begin whose time had come.
func (l *lane) free(was moment) {
	for _, list := range [][]item{l.window, l.late} {
		for i := range list {
			if list[i].begins == nil && was.mayBegin(list[i]) {
				list[i].begins, l.moved = new(clock.Due), true
			}
		}
	}
}

// BeginsAt says when a task that was added may begin, where its key cannot say it: its wait
// does not depend on what the wall clock shows.
func (b *Book) BeginsAt(p Place, task string, due clock.Due) {
	a := b.accounts[p.Account]
	if a == nil || a.lanes[p.Lane] == nil {
		return
	}
	l, key := a.lanes[p.Lane], p.Key(task)
	for _, list := range [][]item{l.window, l.late} {
		for i := range list {
			if list[i].key == key {
				list[i].begins, l.moved, b.soonest = &due, true, time.Time{}
			}
		}
	}
}

// note tells the book of a time at which a task may begin.
func (b *Book) note(at time.Time) {
	if !b.soonest.IsZero() && at.After(b.showed) && at.Before(b.soonest) {
		b.soonest = time.Time{}
	}
}

// Looked reports whether [Book.NextAt] would still say what it has said, or a later time.
// Waits says that what it has said is waited for.
func (b *Book) Looked(waits bool) bool { return b.soonest == never || waits && !b.soonest.IsZero() }

// never is the answer of NextAt where nothing waits for a time, for [Book.Looked].
var never = time.Unix(1<<40, 0)

// NextAt is when the first task may begin that may not yet, as [time.Now] would say it now;
// zero: there is none.
func (b *Book) NextAt(now time.Time) (next time.Time) {
	at := b.see(now)
	rest := time.Duration(-1)
	sooner := func(left time.Duration) {
		if left > 0 && (rest < 0 || left < rest) {
			rest = left
		}
	}
	for _, a := range b.accounts {
		if len(a.lanes) > 0 {
			sooner(b.clock.Left(a.until, now))
		}
		for group, until := range a.paused {
			if sooner(b.clock.Left(until, now)); at.came(until) {
				delete(a.paused, group)
			}
		}
		for _, l := range a.lanes {
			l.waits(at, sooner)
			for _, h := range l.held {
				sooner(b.clock.Left(h.until, now))
			}
		}
	}
	if rest < 0 {
		b.soonest = never
		return time.Time{}
	}
	b.soonest = at.wall.Add(rest)
	return now.Add(rest)
}

// waits tells how long the first task of the window has to wait whose time has not come,
// and where keys do not say it, those of the others as well.
func (l *lane) waits(at moment, sooner func(time.Duration)) {
	i := 0
	if !l.moved {
		i = l.early(at)
	}
	for ; i < len(l.window); i++ {
		if it := l.window[i]; it.begins != nil {
			sooner(at.clock.Left(*it.begins, at.now))
		} else if p, _, ok := ParseKey(it.key); ok {
			sooner(p.At().Sub(at.wall))
		}
		if !l.moved {
			return
		}
	}
}

// Pause lets nothing of an account begin before a time.
func (b *Book) Pause(name string, until clock.Due, now time.Time) {
	if a := b.accounts[name]; a != nil && b.clock.Left(until, now) > b.clock.Left(a.until, now) {
		a.until, b.soonest = until, time.Time{}
	}
}

// Paused reports whether nothing of an account may begin now, see [Book.Pause].
func (b *Book) Paused(name string, now time.Time) bool {
	a := b.accounts[name]
	return a != nil && b.clock.Left(a.until, now) > 0
}

// PauseGroup lets nothing of the group of a lane begin before a time.
func (b *Book) PauseGroup(of Lane, until clock.Due) {
	a := b.accounts[of.Account]
	if a == nil || of.Group == "" {
		return
	}
	if a.paused == nil {
		a.paused = map[string]clock.Due{}
	}
	a.paused[of.Group], b.soonest = until, time.Time{}
}
