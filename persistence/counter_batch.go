package persistence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// retryCounts is how long after a failed attempt counts are written again.
const retryCounts = 2 * time.Second

// counterBatch gathers counts that need no decision. While those of an account are
// being written the later ones add up, so that many become one write, and who
// counts never waits.
type counterBatch struct {
	write func(context.Context, string, dayCount) error
	// gather is how long counts add up before each write, where a write costs
	// more than what is lost of them with the process; nil: not at all.
	gather   func() time.Duration
	flushNow chan struct{} // has one: somebody waits for the write

	mu      sync.Mutex
	open    map[string]*pendingCount // by account: what is still being added to
	writing map[string]*pendingCount
	failed  map[string][]dayCount // goes along with the account's next write
	again   *time.Timer           // until the next attempt at those
	closed  bool                  // there will be none: the store is closed
	idle    chan struct{}         // closed when nothing is left to be written; nil: nothing is
}

// pendingCount is what an account has counted since its last write.
type pendingCount struct {
	days []dayCount // nearly always one
	done chan struct{}
	err  error // set before done is closed
}

type dayCount struct {
	at time.Time
	n  int64
}

func (s *pendingCount) add(at time.Time, n int64) {
	day := dayOf(at)
	for i := range s.days {
		if s.days[i].at.Equal(day) {
			s.days[i].n += n
			return
		}
	}
	s.days = append(s.days, dayCount{day, n})
}

// add counts n tasks of an account on the day of a time.
func (t *counterBatch) add(account string, at time.Time, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.open[account]
	if s == nil {
		s = &pendingCount{done: make(chan struct{})}
		if t.open == nil {
			t.open = map[string]*pendingCount{}
		}
		t.open[account] = s
		for _, d := range t.failed[account] {
			s.add(d.at, d.n)
		}
		delete(t.failed, account)
	}
	s.add(at, n)
	if t.idle == nil {
		t.idle = make(chan struct{})
		go t.run()
	}
}

// run writes until nothing is left.
func (t *counterBatch) run() {
	for t.gatherMore(); t.next(); t.gatherMore() {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		var all sync.WaitGroup
		left := len(t.writing)
		for account, s := range t.writing {
			one := func() { t.put(ctx, account, s) }
			// At the same time, so that the store makes one commit of them all.
			if left--; left > 0 {
				all.Go(one)
			} else {
				one()
			}
		}
		all.Wait()
		cancel()
	}
}

// gatherMore lets counts add up until the next write, or until somebody waits for it.
func (t *counterBatch) gatherMore() {
	if t.gather == nil {
		return
	}
	enough := time.NewTimer(t.gather())
	defer enough.Stop()
	select {
	case <-enough.C:
	case <-t.flushNow:
	}
}

// writeSoon lets the next write begin at once.
func (t *counterBatch) writeSoon() {
	select {
	case t.flushNow <- struct{}{}:
	default:
	}
}

// put writes one sum. A sum that the store refuses is not forgotten.
func (t *counterBatch) put(ctx context.Context, account string, s *pendingCount) {
	defer close(s.done)
	for _, d := range s.days {
		if d.n == 0 {
			continue
		}
		if err := t.write(ctx, account, d); err != nil {
			s.err = errors.Join(s.err, err)
			t.mu.Lock()
			if t.failed == nil {
				t.failed = map[string][]dayCount{}
			}
			t.failed[account] = append(t.failed[account], d)
			t.closed = t.closed || errors.Is(err, ErrClosed)
			t.mu.Unlock()
		}
	}
}

// next takes what has been gathered and reports whether there was anything.
func (t *counterBatch) next() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing, t.open = t.open, nil
	if len(t.writing) > 0 {
		return true
	}
	t.retryLater()
	close(t.idle)
	t.idle = nil
	return false
}

// retryLater writes again what the store did not take, a moment later. The caller
// holds the lock.
func (t *counterBatch) retryLater() {
	if len(t.failed) > 0 && t.again == nil && !t.closed {
		t.again = time.AfterFunc(retryCounts, t.retry)
	}
}

// retry begins to write what the store did not take.
func (t *counterBatch) retry() {
	t.mu.Lock()
	if t.again != nil {
		t.again.Stop()
		t.again = nil
	}
	accounts := slices.Collect(maps.Keys(t.failed))
	t.mu.Unlock()
	for _, account := range accounts {
		t.add(account, time.Now(), 0)
	}
}

// flushAccount waits until what the account has counted so far is in the store.
func (t *counterBatch) flushAccount(ctx context.Context, account string) error {
	t.mu.Lock()
	waiting := [...]*pendingCount{t.writing[account], t.open[account]}
	t.mu.Unlock()
	if waiting[1] != nil {
		t.writeSoon()
	}
	var err error
	for _, s := range waiting {
		err = errors.Join(err, s.wait(ctx))
	}
	return err
}

// flush waits until nothing is left to be written. It retries sums that the store did not
// take.
func (t *counterBatch) flush(ctx context.Context) error {
	t.retry()
	t.mu.Lock()
	idle := t.idle
	t.mu.Unlock()
	if idle == nil {
		return nil
	}
	t.writeSoon()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *pendingCount) wait(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
