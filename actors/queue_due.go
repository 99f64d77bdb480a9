package actors

import (
	"context"
	"time"

	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/persistence/clock"
)

// The key of a waiting task has the time by the wall clock at which it may begin. Where that
// clock was set back since, the key of a task that does not wait, or that waits for so long
// from its request on, says too late a time. So the book is told how long such tasks wait,
// whatever the clock shows. Tasks that name a time wait until the clock shows it.

// after is a time so long from now.
func (u *queue) after(d time.Duration) clock.Due { return u.node.cfg.Clock.After(time.Now(), d) }

// begins tells the book how long a task waits, where its key alone would let it wait.
func (u *queue) begins(p backlog.Place, task string, since time.Time, d time.Duration) {
	if due := u.node.waitOf(p, since, d); due != nil {
		u.book.BeginsAt(p, task, *due)
	}
}

// beginsAgain does that for the pause before another attempt, which begins now.
func (u *queue) beginsAgain(p backlog.Place, task string) {
	wall := u.node.cfg.Clock.Now()
	u.begins(p, task, wall, min(p.At().Sub(wall), backlog.LongestBackoff))
}

// waitOf is when a task may begin that waits for so long; nil: it may by its key.
func (n *nodeParts) waitOf(p backlog.Place, since time.Time, d time.Duration) *clock.Due {
	now := time.Now()
	wall := n.cfg.Clock.At(now)
	if !p.At().After(wall) {
		return nil
	}
	due := n.cfg.Clock.After(now, min(max(since.Add(d).Sub(wall), 0), d)) // since may be in the future
	return &due
}

// findWait finds out how long a task waits that was there before this process.
func (n *nodeParts) findWait(ctx context.Context, f *backlog.Found) {
	p, _, ok := backlog.ParseKey(f.Key)
	if !ok || !p.At().After(n.cfg.Clock.Now()) {
		return
	}
	q, err := n.records.Queue().Read(ctx, f.Key)
	if err != nil {
		return // its turn finds out why
	}
	if since, d, ok := q.Wait(); ok {
		f.Begins = n.waitOf(p, since, d)
	}
}

// waitAgain gives a task its place for another attempt.
func (n *nodeParts) waitAgain(p *backlog.Place, q *records.Queued, attempts int, after time.Duration) {
	now := n.cfg.Clock.Now()
	p.Order = n.orders.Order(now, now.Add(after))
	q.Attempts, q.Pause = attempts, &records.QueuedPause{Since: now, For: after}
}
