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
	// leaseRound is how often leases are checked for what is held and not used.
	leaseRound = time.Second
	// leaseWait is how long a task waits at the end of a day for what other nodes
	// hold: when nothing is left, nodes give back what they do not need.
	leaseWait  = 500 * time.Millisecond
	leasePause = 20 * time.Millisecond
	// storeTimeout bounds one change of a count.
	storeTimeout = Patience + 8*time.Second
)

// QuotaSharing says how the nodes that share a store take leases of a day.
type QuotaSharing struct {
	Nodes int // that there are
	// Count is how many there are now, where nodes come and go; nil: Nodes.
	Count func() int
	// Majority reports whether the node sees enough others to write; nil: always.
	Majority func() bool
	// Recent reads a record as the node last received it, without asking other
	// nodes.
	Recent func(key string) (Record, error)
	// Elsewhere is how much other nodes say they hold of an account's present
	// day; nil: nothing.
	Elsewhere func(account string) int64
	// WorkerNode is a node without a copy of the store: each change of a count that it follows
	// is a message. It follows only the days that it has leases of.
	WorkerNode bool
}

// quotaLeases are the leases of this node.
type quotaLeases struct {
	QuotaSharing
	store Store

	mu      sync.Mutex
	byKey   map[leaseKey]*dayLease
	changed chan struct{} // closed when a lease is changed no more

	base context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// leaseKey names a lease by its account and day.
type leaseKey struct {
	account string
	day     time.Time
}

// dayLease is a lease with what is known of its day. While changing is set one
// goroutine changes the day's count for it, and nobody else here.
type dayLease struct {
	quotaLease
	known known
	limit int64

	changing  bool
	writing   bool
	later     known          // heard of while writing
	returning bool           // nothing is to be held any more
	waiting   []*leaseWaiter // tasks for which nothing is held
	over      uint64         // nothing was left at this revision, however long one waited
	unfollow  func()         // ends following this day; nil: all days are followed
}

// known is the last known count of a day.
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

// leaseWaiter is a task that waits for a lease.
type leaseWaiter struct {
	since time.Time
	used  int64
	ok    bool
	err   error
	done  chan struct{}
}

func newQuotaLeases(store Store, s QuotaSharing) *quotaLeases {
	all := &quotaLeases{QuotaSharing: s, store: store, byKey: map[leaseKey]*dayLease{}, changed: make(chan struct{})}
	all.base, all.stop = context.WithCancel(context.Background())
	if !s.WorkerNode {
		all.done.Go(func() { all.follow(all.base, usagePrefix, func() {}) })
	}
	all.done.Go(all.returnUnused)
	return all
}

func (s *quotaLeases) close() {
	s.stop()
	s.done.Wait()
}

// nodes is among how many nodes a day is shared.
func (s *quotaLeases) nodes() int {
	if s.Count == nil {
		return s.Nodes
	}
	return max(s.Count(), 1)
}

func (s *quotaLeases) majority() bool { return s.Majority == nil || s.Majority() }

// takeNow uses one task of what is held. It asks nobody.
func (s *quotaLeases) takeNow(account string, limit int64, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := leaseKey{account, dayOf(now)}
	e := s.byKey[k]
	if e == nil {
		return false
	}
	e.limit = limit
	if e.known.total > limit || len(e.waiting) > 0 || !e.use(now) {
		return false
	}
	s.adjust(k, e, now)
	return true
}

// take uses one task of the day, and waits for it if nothing is held.
func (s *quotaLeases) take(ctx context.Context, account string, limit int64, now time.Time) (int64, bool, error) {
	k, w := leaseKey{account, dayOf(now)}, &leaseWaiter{since: time.Now(), done: make(chan struct{})}
	s.mu.Lock()
	e := s.byKey[k]
	if e == nil {
		e = s.newLease(k)
		s.byKey[k] = e
	}
	e.limit, e.returning = limit, false
	e.waiting = append(e.waiting, w)
	s.begin(k, e)
	s.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(e.waiting, w); i >= 0 {
			e.waiting = slices.Delete(e.waiting, i, i+1)
			return 0, false, context.Cause(ctx)
		}
	}
	return w.used, w.ok, w.err
}

// newLease makes a lease that holds nothing yet. The caller holds the lock.
func (s *quotaLeases) newLease(k leaseKey) *dayLease {
	e := &dayLease{known: s.lastHeard(k)}
	if s.WorkerNode {
		var ctx context.Context
		ctx, e.unfollow = context.WithCancel(s.base)
		s.done.Go(func() { s.followDay(ctx, k) })
	}
	return e
}

// lastHeard is a day's count as the node heard of it. A change finds out whether
// it is so.
func (s *quotaLeases) lastHeard(k leaseKey) known {
	key, _ := usageKey(k.account, k.day)
	last, err := knownBy(s.Recent(key))
	if err != nil {
		return known{}
	}
	return last
}

// giveBack puts a task that was not used into the lease of its day. It reports
// false where there is none.
func (s *quotaLeases) giveBack(account string, taken time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := leaseKey{account, dayOf(taken)}
	e := s.byKey[k]
	if e == nil {
		return false
	}
	e.held++
	s.adjust(k, e, time.Now())
	return true
}

// adjust begins to change a lease that is too small or too large. The caller holds
// the lock.
func (s *quotaLeases) adjust(k leaseKey, e *dayLease, now time.Time) {
	if !e.changing && e.need(now, s.nodes()) != 0 && s.majority() {
		s.begin(k, e)
	}
}

func (s *quotaLeases) begin(k leaseKey, e *dayLease) {
	if !e.changing {
		e.changing = true
		s.done.Go(func() { s.change(k, e) })
	}
}

func (e *dayLease) need(now time.Time, nodes int) int64 {
	if e.returning && len(e.waiting) == 0 {
		return -e.held
	}
	return e.quotaLease.change(now, int64(len(e.waiting)), day{e.known.total, e.limit, nodes})
}

// retire forgets a lease that has no more use.
func (s *quotaLeases) retire(k leaseKey, e *dayLease, now time.Time) {
	idle := e.held == 0 && len(e.waiting) == 0 && !e.changing
	spent := e.over > 0 && e.over == e.known.revision // the next one is refused at once
	past := k.day.Before(dayOf(now))
	if idle && (past || e.returning || !spent && e.lately(now) < leaseIdle) {
		delete(s.byKey, k)
		if e.unfollow != nil {
			e.unfollow()
		}
	}
}

// returnUnused gives back what is not used, of all leases, until the end.
func (s *quotaLeases) returnUnused() {
	tick := time.NewTicker(leaseRound)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.base.Done():
			return
		}
		s.mu.Lock()
		now := time.Now()
		for k, e := range s.byKey {
			if k.day.Before(dayOf(now)) {
				e.returning = true
			}
			s.adjust(k, e, now)
			s.retire(k, e, now)
		}
		s.mu.Unlock()
	}
}

// giveAllBack gives back everything that is held, as far as that is possible now.
func (s *quotaLeases) giveAllBack(ctx context.Context) {
	for s.majority() {
		s.mu.Lock()
		left, calm := false, s.changed
		for k, e := range s.byKey {
			e.returning = true
			s.adjust(k, e, time.Now())
			left = left || e.changing
		}
		s.mu.Unlock()
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

// used is how much of a day was used, by a count of the day and the last reports of the
// other nodes.
func (s *quotaLeases) used(account string, now time.Time, last known) int64 {
	s.mu.Lock()
	held := int64(0)
	if e := s.byKey[leaseKey{account, dayOf(now)}]; e != nil {
		// While a change is on its way nobody knows whether the count has it.
		if !e.writing && last.revision > e.known.revision {
			e.known = last
		}
		last, held = e.known, e.held
	}
	s.mu.Unlock()
	if s.Elsewhere != nil {
		held += s.Elsewhere(account)
	}
	return max(last.total-held, 0)
}

// held is how much is held of each account's present day.
func (s *quotaLeases) held(now time.Time) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int64{}
	for k, e := range s.byKey {
		if e.held > 0 && k.day.Equal(dayOf(now)) {
			all[k.account] = e.held
		}
	}
	return all
}
