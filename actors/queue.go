package actors

import "slices"

// queue holds the requests that wait for a worker. Inside an account the first
// comes first; between accounts the turns go round, whoever has how many.
//
// A lane is what one account waits for with one target: any worker, or a
// certain one. Lanes have turns, so that one who waits for a certain worker is
// not put back each time another worker serves the same account. A worker looks
// only at the lanes it can serve, takes the account whose turn is the lowest,
// and of that account the request that came first. While a request waits, a
// worker that could serve it serves each other account at most once per request
// of its own account that is in front of it.
type queue struct {
	lanes   map[string]map[string]*lane // target, account
	waiters map[string]*waiter          // task
	number  map[string]int              // waiters of an account
	turn    uint64
	arrival uint64
}

type lane struct {
	account string
	turn    uint64
	line    []*waiter // by arrival
}

// waiter is one request in the queue.
type waiter struct {
	Task    string
	Account string
	Target  string // worker; empty: any
	arrival uint64 // zero: not queued before
	turn    uint64 // of its lane when it was taken
}

func newQueue() *queue {
	return &queue{lanes: map[string]map[string]*lane{}, waiters: map[string]*waiter{}, number: map[string]int{}}
}

func (q *queue) len() int { return len(q.waiters) }

// of returns how many requests of the account wait.
func (q *queue) of(account string) int { return q.number[account] }

// waiting reports whether requests of such an account wait for a target.
func (q *queue) waiting(target string, such func(account string) bool) bool {
	for account := range q.lanes[target] {
		if such(account) {
			return true
		}
	}
	return false
}

// add puts a waiter at the end of its lane, or where it was before if a worker
// had it already and sent it back.
func (q *queue) add(w *waiter) {
	if w.arrival == 0 {
		q.arrival++
		w.arrival = q.arrival
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
	if w.turn != 0 && w.turn < l.turn {
		l.turn = w.turn
	}
	i := len(l.line)
	for i > 0 && l.line[i-1].arrival > w.arrival {
		i--
	}
	l.line = slices.Insert(l.line, i, w)
	q.waiters[w.Task] = w
	q.number[w.Account]++
}

// remove takes a waiter out, wherever it stands.
func (q *queue) remove(task string) *waiter {
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
	l.line = slices.DeleteFunc(l.line, func(o *waiter) bool { return o == w })
	if len(l.line) == 0 {
		delete(lanes, w.Account)
		if len(lanes) == 0 {
			delete(q.lanes, w.Target)
		}
	}
	return w
}

// next takes the waiter that a worker is to serve: one of those that wait for
// any of the targets and that may be served by it.
func (q *queue) next(targets []string, may func(*waiter) bool) *waiter {
	w := q.peek(targets, may)
	if w == nil {
		return nil
	}
	w.turn = q.lanes[w.Target][w.Account].turn
	q.turn++
	for _, t := range targets {
		if l := q.lanes[t][w.Account]; l != nil {
			l.turn = q.turn
		}
	}
	return q.remove(w.Task)
}

// peek is next without taking.
func (q *queue) peek(targets []string, may func(*waiter) bool) *waiter {
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
	var best *waiter
	for _, t := range targets {
		l := q.lanes[t][account]
		if l == nil {
			continue
		}
		i := slices.IndexFunc(l.line, may)
		if i >= 0 && (best == nil || l.line[i].arrival < best.arrival) {
			best = l.line[i]
		}
	}
	return best
}

// position is the place of a waiter among those with the same target: 1 is
// next.
func (q *queue) position(task string) int {
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
