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
	// shareRound is how often it is looked at what is held and not used.
	shareRound = time.Second
	// shareWait is how long a task waits at the end of a day for what other nodes
	// hold: who hears that nothing is left gives back what it does not need.
	shareWait  = 500 * time.Millisecond
	sharePause = 20 * time.Millisecond
	// storeTimeout bounds one change of a count.
	storeTimeout = Patience + 8*time.Second
)

// Sharing says how the nodes that share a store take shares of a day.
type Sharing struct {
	Nodes int // that there are
	// Majority reports whether the node sees enough others to write; nil: always.
	Majority func() bool
	// Recent reads a record as the node last heard of it, without asking others.
	Recent func(key string) (Record, error)
	// Elsewhere is how much other nodes say they hold of an account's present
	// day; nil: nothing.
	Elsewhere func(account string) int64
}

// shares are the shares of this node.
type shares struct {
	Sharing
	store Store

	mu   sync.Mutex
	of   map[shareKey]*dayShare
	calm chan struct{} // closed when a share is changed no more

	base context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// shareKey names a share: whose, and of which day.
type shareKey struct {
	account string
	day     time.Time
}

// dayShare is a share with what is known of its day. While changing is set one
// goroutine changes the day's count for it, and nobody else here.
type dayShare struct {
	share
	known known
	limit int64

	changing  bool
	writing   bool
	later     known         // heard of while writing
	returning bool          // nothing is to be held any more
	waiting   []*shareTaker // tasks for which nothing is held
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

// shareTaker is a task that waits for a share.
type shareTaker struct {
	since time.Time
	used  int64
	ok    bool
	err   error
	done  chan struct{}
}

func newShares(store Store, s Sharing) *shares {
	all := &shares{Sharing: s, store: store, of: map[shareKey]*dayShare{}, calm: make(chan struct{})}
	all.base, all.stop = context.WithCancel(context.Background())
	all.done.Go(all.follow)
	all.done.Go(all.look)
	return all
}

func (s *shares) close() {
	s.stop()
	s.done.Wait()
}

func (s *shares) majority() bool { return s.Majority == nil || s.Majority() }

// takeNow uses one task of what is held. It asks nobody.
func (s *shares) takeNow(account string, limit int64, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := shareKey{account, dayOf(now)}
	e := s.of[k]
	if e == nil {
		return false
	}
	e.limit = limit
	if e.known.total > limit || len(e.waiting) > 0 || !e.use(now) {
		return false
	}
	s.tend(k, e, now)
	return true
}

// take uses one task of the day, and waits for it if nothing is held.
func (s *shares) take(ctx context.Context, account string, limit int64, now time.Time) (int64, bool, error) {
	k, w := shareKey{account, dayOf(now)}, &shareTaker{since: time.Now(), done: make(chan struct{})}
	s.mu.Lock()
	e := s.of[k]
	if e == nil {
		e = &dayShare{known: s.lastHeard(k)}
		s.of[k] = e
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

// lastHeard is a day's count as the node heard of it. A change finds out whether
// it is so.
func (s *shares) lastHeard(k shareKey) known {
	key, _ := usageKey(k.account, k.day)
	last, err := knownBy(s.Recent(key))
	if err != nil {
		return known{}
	}
	return last
}

// giveBack puts a task that was not used into the share of its day. It reports
// false where there is none.
func (s *shares) giveBack(account string, taken time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := shareKey{account, dayOf(taken)}
	e := s.of[k]
	if e == nil {
		return false
	}
	e.held++
	s.tend(k, e, time.Now())
	return true
}

// tend begins to change a share that is too small or too large. The caller holds
// the lock.
func (s *shares) tend(k shareKey, e *dayShare, now time.Time) {
	if !e.changing && e.need(now, s.Nodes) != 0 && s.majority() {
		s.begin(k, e)
	}
}

func (s *shares) begin(k shareKey, e *dayShare) {
	if !e.changing {
		e.changing = true
		s.done.Go(func() { s.change(k, e) })
	}
}

func (e *dayShare) need(now time.Time, nodes int) int64 {
	if e.returning && len(e.waiting) == 0 {
		return -e.held
	}
	return e.share.change(now, int64(len(e.waiting)), day{e.known.total, e.limit, nodes})
}

// retire forgets a share of which nothing is left to know.
func (s *shares) retire(k shareKey, e *dayShare, now time.Time) {
	idle := e.held == 0 && len(e.waiting) == 0 && !e.changing
	spent := e.over > 0 && e.over == e.known.revision // the next one is refused at once
	past := k.day.Before(dayOf(now))
	if idle && (past || e.returning || !spent && e.lately(now) < shareIdle) {
		delete(s.of, k)
	}
}

// look gives back what is not used, of all shares, until the end.
func (s *shares) look() {
	tick := time.NewTicker(shareRound)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.base.Done():
			return
		}
		s.mu.Lock()
		now := time.Now()
		for k, e := range s.of {
			if k.day.Before(dayOf(now)) {
				e.returning = true
			}
			s.tend(k, e, now)
			s.retire(k, e, now)
		}
		s.mu.Unlock()
	}
}

// giveAllBack gives back everything that is held, as far as that is possible now.
func (s *shares) giveAllBack(ctx context.Context) {
	for s.majority() {
		s.mu.Lock()
		left, calm := false, s.calm
		for k, e := range s.of {
			e.returning = true
			s.tend(k, e, time.Now())
			left = left || e.changing
		}
		s.mu.Unlock()
		if !left {
			return
		}
		select {
		case <-calm:
		case <-time.After(shareRound / 4): // there may be no majority any more
		case <-ctx.Done():
			return
		}
	}
}

// used is how much of a day was used, by a count of the day. What other nodes
// hold is what they said of it.
func (s *shares) used(account string, now time.Time, last known) int64 {
	s.mu.Lock()
	held := int64(0)
	if e := s.of[shareKey{account, dayOf(now)}]; e != nil {
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
func (s *shares) held(now time.Time) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int64{}
	for k, e := range s.of {
		if e.held > 0 && k.day.Equal(dayOf(now)) {
			all[k.account] = e.held
		}
	}
	return all
}
