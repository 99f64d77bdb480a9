package persistence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

const usagePrefix = "usage/" // followed by the account and the day

// keepUsage is how long the count of a day is kept after it is over.
const keepUsage = 7 * 24 * time.Hour

// Usage counts the tasks of each account and UTC day. A count that was
// acknowledged survives the end of the process.
type Usage struct {
	store Store
	tally tally
}

// NewUsage keeps the counts in a store.
func NewUsage(store Store) *Usage {
	u := &Usage{store: store}
	u.tally.write = func(ctx context.Context, account string, d dayCount) (err error) {
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

// Take counts one task, unless the day's count has reached the limit; then it
// returns the count and false. A limit of zero or less is no limit.
func (u *Usage) Take(ctx context.Context, account string, limit int64, now time.Time) (int64, bool, error) {
	key, expires := usageKey(account, now)
	used, ok, err := u.store.Add(ctx, key, 1, limit, expires)
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
func (u *Usage) Count(account string, now time.Time) { u.tally.add(account, now, 1) }

// GiveBack takes back what was counted at the time given, which names the day,
// without waiting.
func (u *Usage) GiveBack(account string, taken time.Time) { u.tally.add(account, taken, -1) }

// Written waits until what was counted of the account and given back to it
// before is in the store.
func (u *Usage) Written(ctx context.Context, account string) error {
	return u.tally.written(ctx, account)
}

// Settled waits until nothing is left to be written of any account.
func (u *Usage) Settled(ctx context.Context) error { return u.tally.settled(ctx) }

// Read returns the day's count.
func (u *Usage) Read(ctx context.Context, account string, now time.Time) (int64, error) {
	key, _ := usageKey(account, now)
	r, err := u.store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the usage of %q: %w", account, err)
	}
	used, err := strconv.ParseInt(string(r.Value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the usage of %q: %w", account, err)
	}
	return used, nil
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

// Reset returns when the day of a time ends and counting begins anew.
func (u *Usage) Reset(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

func usageKey(account string, at time.Time) (key string, expires time.Time) {
	day := at.UTC().Truncate(24 * time.Hour)
	return usagePrefix + account + "/" + day.Format(time.DateOnly), day.Add(24*time.Hour + keepUsage)
}
