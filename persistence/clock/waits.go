package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// waits are all waits of a clock. One timer looks for all of them: of a thousand that each
// had one the process would wake a thousand times as often.
type waits struct {
	mu      sync.Mutex
	wall    byTime // all of them
	process byTime // those that the other clock ends, too
	timer   *time.Timer
	at      time.Time // when it looks next; zero: nothing waits
}

// Timer is a wait for a time.
type Timer struct {
	c     *Clock
	due   Due
	came  func()
	place [2]int // in the heaps, and one more; 0: it is not there
}

// byTime is a heap of waits, by one of their times.
type byTime struct {
	process int // 1: that of the process
	all     []*Timer
}

func (b *byTime) time(i int) time.Time {
	if b.process == 1 {
		return b.all[i].due.process
	}
	return b.all[i].due.wall
}

func (b *byTime) Len() int           { return len(b.all) }
func (b *byTime) Less(i, j int) bool { return b.time(i).Before(b.time(j)) }
func (b *byTime) Swap(i, j int) {
	b.all[i], b.all[j] = b.all[j], b.all[i]
	b.all[i].place[b.process], b.all[j].place[b.process] = i+1, j+1
}

func (b *byTime) Push(x any) {
	t := x.(*Timer)
	b.all = append(b.all, t)
	t.place[b.process] = len(b.all)
}

func (b *byTime) Pop() any {
	last := len(b.all) - 1
	t := b.all[last]
	b.all[last] = nil
	b.all = b.all[:last]
	t.place[b.process] = 0
	return t
}

func (b *byTime) remove(t *Timer) {
	if i := t.place[b.process]; i > 0 {
		heap.Remove(b, i-1)
	}
}

// Until waits for a time. False: the context has ended first.
func (c *Clock) Until(ctx context.Context, due Due) bool {
	if ctx.Err() != nil {
		return false
	}
	if c.Came(due, time.Now()) {
		return true
	}
	came := make(chan struct{})
	t := c.wait(due, func() { close(came) })
	defer t.Stop()
	select {
	case <-came:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// AfterFunc calls a function, in a goroutine of its own, once a time has come.
func (c *Clock) AfterFunc(due Due, f func()) *Timer { return c.wait(due, func() { go f() }) }

// wait calls a function, which must not take long, once a time has come.
func (c *Clock) wait(due Due, came func()) *Timer {
	if c == nil {
		c = new(Clock)
	}
	t, w := &Timer{c: c, due: due, came: came}, &c.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process.process = 1
	heap.Push(&w.wall, t)
	if !due.process.IsZero() {
		heap.Push(&w.process, t)
	}
	c.lookAgain(time.Now())
	return t
}

// Stop ends the wait. A call that has begun goes on.
func (t *Timer) Stop() {
	if t == nil {
		return
	}
	w := &t.c.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(t)
	t.c.lookAgain(time.Now())
}

func (w *waits) remove(t *Timer) {
	w.wall.remove(t)
	w.process.remove(t)
}

// look ends the waits whose time has come.
func (c *Clock) look() {
	w := &c.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.at = time.Time{}
	for _, b := range []*byTime{&w.wall, &w.process} {
		for len(b.all) > 0 && c.Came(b.all[0].due, now) {
			t := b.all[0]
			w.remove(t)
			t.came()
		}
	}
	c.lookAgain(now)
}

// lookAgain has the timer look when the next time comes that is waited for, or so soon that
// a clock that was set is noticed. A look that turns out to be too early does no harm. The
// mutex is held.
func (c *Clock) lookAgain(now time.Time) {
	w := &c.waits
	if len(w.wall.all) == 0 {
		if w.timer != nil {
			w.timer.Stop()
		}
		w.at = time.Time{}
		return
	}
	left := c.Left(w.wall.all[0].due, now)
	if len(w.process.all) > 0 {
		left = min(left, c.Left(w.process.all[0].due, now))
	}
	left = Soon(left)
	at := now.Add(left)
	switch {
	case !w.at.IsZero() && !at.Before(w.at):
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(left, c.look)
	default:
		w.timer.Reset(left)
	}
	w.at = at
}
