package persistence

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// leaseRound is how often it is looked at what is held and not used.
	leaseRound = time.Second
	// leaseWait is how long a task waits at the end of a day for what other nodes
	// hold: who hears that nothing is left gives back what it does not need.
	leaseWait  = 500 * time.Millisecond
	leasePause = 20 * time.Millisecond
	// storeTimeout bounds one change of a count.
	storeTimeout = Patience + 8*time.Second
)

// Lease says how the nodes that share a store take shares of a day.
type Lease struct {
	Nodes int // that there are
	// Majority reports whether the node sees enough others to write; nil: always.
	Majority func() bool
	// Recent reads a record as the node last heard of it, without asking others.
	Recent func(key string) (Record, error)
	// Elsewhere is how much other nodes say they hold of an account's present
	// day; nil: nothing.
	Elsewhere func(account string) int64
}

// leases are the shares of this node.
type leases struct {
	Lease
	store Store

	mu     sync.Mutex
	shares map[leased]*lease
	calm   chan struct{} // closed when a share is changed no more

	base context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// leased names a share: whose, and of which day.
type leased struct {
	account string
	day     time.Time
}

// lease is a share with what is known of its day. While changing is set one
// goroutine changes the day's count for it, and nobody else here.
type lease struct {
	share
	known known
	limit int64

	changing  bool
	writing   bool
	later     known         // heard of while writing
	returning bool          // nothing is to be held any more
	waiting   []*leaseTaker // tasks for which nothing is held
	over      uint64        // nothing was left at this revision, however long one waited
}

// known is a day's count as it was last heard of.
type known struct {
	total    int64
	revision uint64
}

func knownBy(r Record, err error) (known, error) {
	if errors.Is(err, ErrNotFound) {
		return known{}, nil
	}
	if err != nil {
		return known{}, err
	}
	total, err := strconv.ParseInt(string(r.Value), 10, 64)
	return known{total, r.Revision}, err
}

// leaseTaker is a task that waits for a share.
type leaseTaker struct {
	since time.Time
	used  int64
	ok    bool
	err   error
	done  chan struct{}
}

func newLeases(store Store, l Lease) *leases {
	all := &leases{Lease: l, store: store, shares: map[leased]*lease{}, calm: make(chan struct{})}
	all.base, all.stop = context.WithCancel(context.Background())
	all.done.Go(all.follow)
	all.done.Go(all.look)
	return all
}

func (l *leases) close() {
	l.stop()
	l.done.Wait()
}

func (l *leases) majority() bool { return l.Majority == nil || l.Majority() }

// takeNow uses one task of what is held. It asks nobody.
func (l *leases) takeNow(account string, limit int64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := leased{account, dayOf(now)}
	e := l.shares[k]
	if e == nil {
		return false
	}
	e.limit = limit
	if e.known.total > limit || len(e.waiting) > 0 || !e.use(now) {
		return false
	}
	l.tend(k, e, now)
	return true
}

// take uses one task of the day, and waits for it if nothing is held.
func (l *leases) take(ctx context.Context, account string, limit int64, now time.Time) (int64, bool, error) {
	k, w := leased{account, dayOf(now)}, &leaseTaker{since: time.Now(), done: make(chan struct{})}
	l.mu.Lock()
	e := l.shares[k]
	if e == nil {
		e = &lease{known: l.lastHeard(k)}
		l.shares[k] = e
	}
	e.limit, e.returning = limit, false
	e.waiting = append(e.waiting, w)
	l.begin(k, e)
	l.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(e.waiting, w); i >= 0 {
			e.waiting = slices.Delete(e.waiting, i, i+1)
			return 0, false, context.Cause(ctx)
		}
	}
	return w.used, w.ok, w.err
}

// lastHeard is a day's count as the node heard of it. A change finds out whether
// it is so.
func (l *leases) lastHeard(k leased) known {
	key, _ := usageKey(k.account, k.day)
	last, err := knownBy(l.Recent(key))
	if err != nil {
		return known{}
	}
	return last
}

// giveBack puts a task that was not used into the share of its day. It reports
// false where there is none.
func (l *leases) giveBack(account string, taken time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := leased{account, dayOf(taken)}
	e := l.shares[k]
	if e == nil {
		return false
	}
	e.held++
	l.tend(k, e, time.Now())
	return true
}

// tend begins to change a share that is too small or too large. The caller holds
// the lock.
func (l *leases) tend(k leased, e *lease, now time.Time) {
	if !e.changing && e.need(now, l.Nodes) != 0 && l.majority() {
		l.begin(k, e)
	}
}

func (l *leases) begin(k leased, e *lease) {
	if !e.changing {
		e.changing = true
		l.done.Go(func() { l.change(k, e) })
	}
}

func (e *lease) need(now time.Time, nodes int) int64 {
	if e.returning && len(e.waiting) == 0 {
		return -e.held
	}
	return e.share.change(now, int64(len(e.waiting)), day{e.known.total, e.limit, nodes})
}

// retire forgets a share of which nothing is left to know.
func (l *leases) retire(k leased, e *lease, now time.Time) {
	idle := e.held == 0 && len(e.waiting) == 0 && !e.changing
	spent := e.over > 0 && e.over == e.known.revision // the next one is refused at once
	past := k.day.Before(dayOf(now))
	if idle && (past || e.returning || !spent && e.lately(now) < shareIdle) {
		delete(l.shares, k)
	}
}

// look gives back what is not used, of all shares, until the end.
func (l *leases) look() {
	tick := time.NewTicker(leaseRound)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.base.Done():
			return
		}
		l.mu.Lock()
		now := time.Now()
		for k, e := range l.shares {
			if k.day.Before(dayOf(now)) {
				e.returning = true
			}
			l.tend(k, e, now)
			l.retire(k, e, now)
		}
		l.mu.Unlock()
	}
}

// giveAllBack gives back everything that is held, as far as that is possible now.
func (l *leases) giveAllBack(ctx context.Context) {
	for l.majority() {
		l.mu.Lock()
		left, calm := false, l.calm
		for k, e := range l.shares {
			e.returning = true
			l.tend(k, e, time.Now())
			left = left || e.changing
		}
		l.mu.Unlock()
		if !left {
			return
		}
		select {
		case <-calm:
		case <-time.After(leaseRound / 4): // there may be no majority any more
		case <-ctx.Done():
			return
		}
	}
}

// used is how much of a day was used, by a count of the day. What other nodes
// hold is what they said of it.
func (l *leases) used(account string, now time.Time, last known) int64 {
	l.mu.Lock()
	held := int64(0)
	if e := l.shares[leased{account, dayOf(now)}]; e != nil {
		// While a change is on its way nobody knows whether the count has it.
		if !e.writing && last.revision > e.known.revision {
			e.known = last
		}
		last, held = e.known, e.held
	}
	l.mu.Unlock()
	if l.Elsewhere != nil {
		held += l.Elsewhere(account)
	}
	return max(last.total-held, 0)
}

// held is how much is held of each account's present day.
func (l *leases) held(now time.Time) map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int64{}
	for k, e := range l.shares {
		if e.held > 0 && k.day.Equal(dayOf(now)) {
			all[k.account] = e.held
		}
	}
	return all
}
