package schedule

import "slices"

// Queue holds the requests that wait for a worker. Within an account the first
// comes first; accounts take turns, however many requests each has.
//
// A lane is what one account waits for with one target: any worker, or a certain
// one. Lanes have turns, so that an account that waits for a certain worker does
// not lose its turn whenever another worker serves it. A worker looks only at the
// lanes it can serve, takes the account whose turn is the lowest, and of that
// account the request that came first. While a request waits, a worker that could
// serve it serves each other account at most once per request of its own account
// that is in front of it.
type Queue struct {
	lanes   map[string]map[string]*lane // target, account
	waiters map[string]*Waiter          // task
	number  map[string]int              // waiters of an account
	turn    uint64
	arrival uint64
}

type lane struct {
	account string
	turn    uint64
	line    []*Waiter // by arrival
}

// Waiter is one request in the queue.
type Waiter struct {
	Task    string
	Account string
	Target  string // worker; empty: any
	Arrival uint64 // zero: not queued before
	Turn    uint64 // of its lane when it was taken
}

// NewQueue makes an empty queue.
func NewQueue() *Queue {
	return &Queue{lanes: map[string]map[string]*lane{}, waiters: map[string]*Waiter{}, number: map[string]int{}}
}

// Len is how many requests wait.
func (q *Queue) Len() int { return len(q.waiters) }

// Count is how many requests of the account wait.
func (q *Queue) Count(account string) int { return q.number[account] }

// Waiting reports whether requests wait for a target whose accounts match.
func (q *Queue) Waiting(target string, such func(account string) bool) bool {
	for account := range q.lanes[target] {
		if such(account) {
			return true
		}
	}
	return false
}

// Add puts a waiter at the end of its lane, or where it was before if a worker
// had it already and sent it back.
func (q *Queue) Add(w *Waiter) {
	if w.Arrival == 0 {
		q.arrival++
		w.Arrival = q.arrival
	}
	lanes := q.lanes[w.Target]
	if lanes == nil {
		lanes = map[string]*lane{}
		q.lanes[w.Target] = lanes
	}
	l := lanes[w.Account]
	if l == nil {
		q.turn++
		l = &lane{account: w.Account, turn: q.turn}
		lanes[w.Account] = l
	}
	if w.Turn != 0 && w.Turn < l.turn {
		l.turn = w.Turn
	}
	i := len(l.line)
	for i > 0 && l.line[i-1].Arrival > w.Arrival {
		i--
	}
	l.line = slices.Insert(l.line, i, w)
	q.waiters[w.Task] = w
	q.number[w.Account]++
}

// Remove takes a waiter out of the queue.
func (q *Queue) Remove(task string) *Waiter {
	w := q.waiters[task]
	if w == nil {
		return nil
	}
	delete(q.waiters, task)
	if q.number[w.Account]--; q.number[w.Account] == 0 {
		delete(q.number, w.Account)
	}
	lanes := q.lanes[w.Target]
	l := lanes[w.Account]
	l.line = slices.DeleteFunc(l.line, func(o *Waiter) bool { return o == w })
	if len(l.line) == 0 {
		delete(lanes, w.Account)
		if len(lanes) == 0 {
			delete(q.lanes, w.Target)
		}
	}
	return w
}

// Next takes the waiter that a worker is to serve: one that waits for any of the
// targets and that may accepts.
func (q *Queue) Next(targets []string, may func(*Waiter) bool) *Waiter {
	w := q.Peek(targets, may)
	if w == nil {
		return nil
	}
	w.Turn = q.lanes[w.Target][w.Account].turn
	q.turn++
	for _, t := range targets {
		if l := q.lanes[t][w.Account]; l != nil {
			l.turn = q.turn
		}
	}
	return q.Remove(w.Task)
}

// Peek is Next without taking.
func (q *Queue) Peek(targets []string, may func(*Waiter) bool) *Waiter {
	account, turn := "", uint64(0) // turns begin at 1
	for _, t := range targets {
		for _, l := range q.lanes[t] {
			if (turn == 0 || l.turn < turn) && slices.ContainsFunc(l.line, may) {
				account, turn = l.account, l.turn
			}
		}
	}
	if turn == 0 {
		return nil
	}
	var best *Waiter
	for _, t := range targets {
		l := q.lanes[t][account]
		if l == nil {
			continue
		}
		i := slices.IndexFunc(l.line, may)
		if i >= 0 && (best == nil || l.line[i].Arrival < best.Arrival) {
			best = l.line[i]
		}
	}
	return best
}

// Position is the place of a waiter among those with the same target: 1 is
// next.
func (q *Queue) Position(task string) int {
	w := q.waiters[task]
	if w == nil {
		return 0
	}
	lanes := q.lanes[w.Target]
	own := lanes[w.Account]
	ahead := slices.Index(own.line, w)
	place := ahead + 1
	for _, l := range lanes {
		if l == own {
			continue
		}
		rounds := ahead
		if l.turn < own.turn {
			rounds++
		}
		place += min(len(l.line), rounds)
	}
	return place
}
