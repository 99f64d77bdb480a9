package backlog

import (
	"time"

	"troupe/engine"
)

// start notes that a task begins, for estimates.
func (a *account) start(now time.Time) {
	if a.starts++; a.starts > 1 {
		gap := max(now.Sub(a.began), 0)
		if a.starts == 2 {
			a.gap = gap
		}
		a.gap += (gap - a.gap) / 8
	}
	a.began = now
}

// Began notes the number of a task that begins.
func (b *Book) Began(p Place, number uint64) {
	if a := b.accounts[p.Account]; a != nil {
		a.first[p.Priority] = max(a.first[p.Priority], number+1)
	}
}

// Position is about which place a task has among those of its account, and about how
// long it is until it begins; zero: unknown. 1 is next.
func (b *Book) Position(p Place, number uint64, now time.Time) (place int, estimate time.Duration) {
	a := b.accounts[p.Account]
	if a == nil {
		return 1, 0
	}
	ahead := 0
	if first := a.first[p.Priority]; number > first {
		ahead = int(number - first)
	}
	place = 1 + max(min(ahead, a.waiting[p.Priority]-1), 0)
	for other := p.Priority + 1; other <= engine.MaxPriority; other++ {
		place += a.waiting[other]
	}
	const known, recent = 4, time.Minute
	if a.starts >= known && now.Sub(a.began) < recent {
		estimate = time.Duration(place) * a.gap
	}
	if wait := p.At().Sub(now); wait > estimate {
		estimate = wait
	}
	return place, estimate
}
