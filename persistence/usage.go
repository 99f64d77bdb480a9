package persistence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/persistence/owned"
)

const usagePrefix = "usage/" // followed by the account and the day

var _ = owned.Register(owned.Kind{Prefix: usagePrefix, By: owned.Nobody, Apart: "one for each account and day of a week"})

// keepUsage is how long the count of a day is kept after it is over.
const keepUsage = 7 * 24 * time.Hour

// Usage counts the tasks of each account and UTC day. A count that was
// acknowledged survives the end of the process.
type Usage struct {
	store  Store
	counts counterBatch
	leases *quotaLeases // nil: nobody else counts
}

// NewUsage keeps the counts in a store.
func NewUsage(store Store) *Usage {
	u := &Usage{store: store}
	u.counts.flushNow = make(chan struct{}, 1)
	u.counts.write = func(ctx context.Context, account string, d dayCount) (err error) {
		defer func() {
			if r := recover(); r != nil { // a store may be somebody else's
				err = fmt.Errorf("count %d tasks of %q: panic: %v", d.n, account, r)
			}
		}()
		key, expires := usageKey(account, d.at)
		if _, _, err := store.Add(ctx, key, d.n, 0, expires); err != nil {
			return fmt.Errorf("count %d tasks of %q: %w", d.n, account, err)
		}
		return nil
	}
	return u
}

const (
	// gatherFor is how long counts that decide nothing add up where a write asks
	// other nodes.
	gatherFor = 200 * time.Millisecond
	// gatherShare is the same for each node that there is, where that is more, at nodes
	// without a copy of the store. So all of them ask some hundred times a second at most.
	gatherShare = 10 * time.Millisecond
)

// NewSharedUsage keeps the counts in a store that several nodes share. Each node
// leases a part of an account's day, so that it counts most tasks without asking
// other nodes. It has to be closed.
func NewSharedUsage(store Store, s QuotaSharing) *Usage {
	u := NewUsage(store)
	u.leases = newQuotaLeases(store, s)
	u.counts.gather = func() time.Duration {
		if !s.WorkerNode {
			return gatherFor
		}
		return max(gatherFor, time.Duration(u.leases.nodes())*gatherShare)
	}
	return u
}

// Close ends the background work. Give leases back before: see
// [Usage.GiveAllBack].
func (u *Usage) Close() {
	if u.leases != nil {
		u.leases.close()
	}
	u.counts.writeSoon()
}

// TakeNow counts one task against the node's lease of the day, if it has one,
// without asking other nodes. The store has counted it already.
func (u *Usage) TakeNow(account string, limit int64, now time.Time) bool {
	return u.leases != nil && u.leases.takeNow(account, limit, now)
}

// Take counts one task, unless the day's count has reached the limit; then it
// returns the count and false. A limit of zero or less is no limit.
func (u *Usage) Take(ctx context.Context, account string, limit int64, now time.Time) (int64, bool, error) {
	var used int64
	var ok bool
	var err error
	if u.leases != nil && limit > 0 {
		used, ok, err = u.leases.take(ctx, account, limit, now)
	} else {
		key, expires := usageKey(account, now)
		used, ok, err = u.store.Add(ctx, key, 1, limit, expires)
	}
	if err != nil {
		return 0, false, fmt.Errorf("count a task of %q: %w", account, err)
	}
	return used, ok, nil
}

// Ready says why nothing can be counted now, if the store knows that: a count
// that is not waited for would not be missed before its task has been played.
func (u *Usage) Ready() error {
	if s, ok := u.store.(interface{ Blocked() error }); ok {
		if err := s.Blocked(); err != nil {
			return fmt.Errorf("count tasks: %w", err)
		}
	}
	return nil
}

// Count counts one task of an account that has no limit, without waiting: nothing
// has to be decided. [Usage.Written] says when the store has it.
func (u *Usage) Count(account string, now time.Time) { u.counts.add(account, now, 1) }

// GiveBack takes back one task that was counted at this time, without waiting. The
// time names the day.
func (u *Usage) GiveBack(account string, taken time.Time) {
	if u.leases == nil || !u.leases.giveBack(account, taken) {
		u.counts.add(account, taken, -1)
	}
}

// GiveAllBack gives back the node's leases of all days, for other nodes to use.
// Anything not given back before ctx ends counts as used.
func (u *Usage) GiveAllBack(ctx context.Context) {
	if u.leases != nil {
		u.leases.giveAllBack(ctx)
	}
}

// Held is how much the node holds of each account's present day.
func (u *Usage) Held(now time.Time) map[string]int64 {
	if u.leases == nil {
		return nil
	}
	return u.leases.held(now)
}

// Written waits until the store has everything that was counted for the account,
// or given back, before.
func (u *Usage) Written(ctx context.Context, account string) error {
	return u.counts.flushAccount(ctx, account)
}

// Shared reports whether other nodes count, too. Counts without a limit are then
// written after the response: a process that dies may lose the last of them.
func (u *Usage) Shared() bool { return u.leases != nil }

// Flush waits until nothing is left to be written of any account. Where there
// is no majority to write it, it gives up soon.
func (u *Usage) Flush(ctx context.Context) error {
	if u.leases == nil {
		return u.counts.flush(ctx)
	}
	for {
		within, cancel := context.WithTimeout(ctx, leaseRound)
		err := u.counts.flush(within)
		cancel()
		if err == nil || ctx.Err() != nil || !u.leases.majority() {
			return err
		}
	}
}

// readWithin is how long a count is asked of other nodes, where what was last
// heard of it will do.
const readWithin = 500 * time.Millisecond

// Read returns how many tasks were used of the day. With leases, the count can be
// too low or too high by what other nodes have used since this node last received
// their state. The lease of a lost node counts as used.
func (u *Usage) Read(ctx context.Context, account string, now time.Time) (int64, error) {
	if u.leases == nil {
		last, err := u.last(ctx, account, now)
		return last.total, err
	}
	if u.leases.majority() {
		bound, cancel := context.WithTimeout(ctx, readWithin)
		defer cancel()
		_ = u.counts.flushAccount(bound, account) // what is late is still being written
		if last, err := u.last(bound, account, now); err == nil {
			return u.leases.used(account, now, last), nil
		}
	}
	return u.ReadLocal(ctx, account, now)
}

// ReadLocal is Read without asking other nodes.
func (u *Usage) ReadLocal(ctx context.Context, account string, now time.Time) (int64, error) {
	if u.leases == nil {
		return u.Read(ctx, account, now)
	}
	return u.leases.used(account, now, u.leases.lastHeard(leaseKey{account, dayOf(now)})), nil
}

func (u *Usage) last(ctx context.Context, account string, now time.Time) (known, error) {
	key, _ := usageKey(account, now)
	last, err := knownBy(u.store.Get(ctx, key))
	if err != nil {
		return known{}, fmt.Errorf("read the usage of %q: %w", account, err)
	}
	return last, nil
}

// Forget removes the counts of an account.
func (u *Usage) Forget(ctx context.Context, account string) error {
	records, err := u.store.List(ctx, usagePrefix+account+"/")
	for _, r := range records {
		err = errors.Join(err, u.store.Delete(ctx, r.Key, nil, false))
	}
	if err != nil {
		return fmt.Errorf("forget the usage of %q: %w", account, err)
	}
	return nil
}

// Reset returns when the day of a time ends and counting starts again.
func (u *Usage) Reset(now time.Time) time.Time {
	return dayOf(now).Add(24 * time.Hour)
}

func dayOf(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

func usageKey(account string, at time.Time) (key string, expires time.Time) {
	day := dayOf(at)
	return usagePrefix + account + "/" + day.Format(time.DateOnly), day.Add(24*time.Hour + keepUsage)
}
