package backlog

import (
	"cmp"
	"slices"
	"time"

	"troupe/engine"
)

// Ahead names tasks that are likely to run next, for a reader that wants to be early: about
// in the order of [Book.Next], which alone decides. Tasks of groups are not among them.
func (b *Book) Ahead(now time.Time, most int) (all []Found) {
	type line struct {
		turn uint64
		next []item
	}
	var lines []line
	at := b.see(now)
	for name, a := range b.accounts {
		if !at.came(a.until) {
			continue
		}
		l := line{turn: a.turn}
		for priority := engine.MaxPriority; priority >= 0 && len(l.next) < most; priority-- {
			if of := a.lanes[Lane{Account: name, Priority: priority}]; of != nil {
				l.next = append(l.next, of.begin(at, most-len(l.next))...)
			}
		}
		if len(l.next) > 0 {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(x, y line) int { return cmp.Compare(x.turn, y.turn) })
	for i := 0; len(all) < most; i++ {
		before := len(all)
		for _, l := range lines {
			if i < len(l.next) && len(all) < most {
				all = append(all, Found{Key: l.next[i].key, Size: l.next[i].bytes})
			}
		}
		if len(all) == before {
			break
		}
	}
	return all
}

// begin returns the first tasks of the window, as far as they may begin now.
func (l *lane) begin(at moment, most int) []item {
	for n, it := range l.window {
		if n == most || !at.mayBegin(it) {
			return l.window[:n]
		}
	}
	return l.window
}
