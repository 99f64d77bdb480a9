package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"troupe/persistence/owned"
)

// recordsKept are the bytes of an account's records by the minute in which they
// expire: that many numbers, however many records there are.
type recordsKept map[int64]int64

// never is the minute of records that do not expire.
const never = math.MaxInt64

func minuteOf(expires time.Time) int64 {
	if expires.IsZero() {
		return never
	}
	return expires.Unix()/60 + 1
}

// Record counts a record that the store keeps for an account until it expires, or for good;
// with negative bytes it takes that back. No more is taken back than was counted.
func (l *Ledger) Record(account string, bytes int64, expires time.Time) {
	if l == nil || account == "" || bytes == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record(account, bytes, minuteOf(expires))
}

func (l *Ledger) record(account string, bytes, minute int64) {
	if l.meanwhile != nil {
		l.meanwhile.add(account, bytes, minute)
	}
	kept := l.records[account]
	if kept == nil {
		kept = recordsKept{}
		l.records[account] = kept
	}
	bytes = max(bytes, -kept[minute])
	if kept[minute] += bytes; kept[minute] == 0 {
		delete(kept, minute)
	}
	l.change(account, Kept{Bytes: bytes})
}

// Wrote counts what a change has made of a record. Before is what was there; no key: nothing,
// or it is not known. Account is whose it is where the key does not say that.
func (l *Ledger) Wrote(account string, before Record, c Change) {
	if l == nil {
		return
	}
	k, part, known := owned.Of(c.Key)
	if known && k.Apart != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case known && k.By == owned.Key:
		account = part
		if _, id, ok := strings.Cut(strings.TrimPrefix(c.Key, k.Prefix), "/"); ok && !c.Delete && isParent(k.Prefix) {
			l.parents[k.Prefix+id] = account
		}
	case known && k.By == owned.Parent && account == "":
		account = l.parents[k.Of+part]
	}
	if account == "" {
		return
	}
	if before.Key != "" {
		l.record(account, -int64(len(before.Key)+len(before.Value)), minuteOf(before.Expires))
	}
	if !c.Delete {
		l.record(account, int64(len(c.Key)+len(c.Value)), minuteOf(c.Expires))
	}
}

// isParent reports whether other records belong to those of a prefix.
func isParent(prefix string) bool { return parents()[prefix] }

var parents = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, k := range owned.Kinds() {
		if k.By == owned.Parent {
			all[k.Of] = true
		}
	}
	return all
})

// forgetRecords gives the room of records back that have expired.
func (l *Ledger) forgetRecords(now time.Time) {
	for account, kept := range l.records {
		for minute, bytes := range kept {
			if minute != never && minute*60 <= now.Unix() {
				delete(kept, minute)
				l.change(account, Kept{Bytes: -bytes})
			}
		}
		if len(kept) == 0 {
			delete(l.records, account)
		}
	}
}

// recordCounts are records by account.
type recordCounts map[string]recordsKept

func (c recordCounts) add(account string, bytes, minute int64) {
	if c[account] == nil {
		c[account] = recordsKept{}
	}
	c[account][minute] += bytes
}

// pageOfKeys is how many keys a count reads at once.
const pageOfKeys = 8192

// CountRecords counts the records that a store keeps for accounts, while others are written:
// those from before the start, those of other nodes, and those that nobody took back.
func (l *Ledger) CountRecords(ctx context.Context, s Store) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if l.meanwhile != nil { // it is being done
		l.mu.Unlock()
		return nil
	}
	l.meanwhile = recordCounts{}
	l.mu.Unlock()
	w := recordWalk{store: s, counts: recordCounts{}, parents: map[string]string{}}
	err := w.all(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	meanwhile := l.meanwhile
	l.meanwhile = nil
	if err != nil {
		return fmt.Errorf("count the records of accounts: %w", err)
	}
	for account, kept := range l.records {
		for _, bytes := range kept {
			l.change(account, Kept{Bytes: -bytes})
		}
	}
	l.records, l.parents = map[string]recordsKept{}, w.parents
	for account, kept := range w.counts {
		for minute, bytes := range kept {
			l.record(account, bytes, minute)
		}
	}
	for account, kept := range meanwhile { // where the walk has come by already, that counts twice until the next one
		for minute, bytes := range kept {
			l.record(account, bytes, minute)
		}
	}
	return nil
}

// recordWalk goes through the records that count.
type recordWalk struct {
	store   Store
	counts  recordCounts
	parents map[string]string // as in the ledger
}

// all goes through all kinds: those that others belong to first.
func (w *recordWalk) all(ctx context.Context) error {
	for _, belong := range []bool{false, true} {
		for _, k := range owned.Kinds() {
			if (k.By == owned.Parent) != belong || k.Apart != "" && !isParent(k.Prefix) {
				continue
			}
			if err := w.kind(ctx, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *recordWalk) kind(ctx context.Context, k owned.Kind) error {
	for after := ""; ; {
		page, err := w.store.Keys(ctx, k.Prefix, after, pageOfKeys)
		if err != nil {
			return err
		}
		for _, r := range page {
			after = r.Key
			account, err := w.owner(ctx, k, r.Key)
			if err != nil {
				return err
			}
			if _, id, ok := strings.Cut(strings.TrimPrefix(r.Key, k.Prefix), "/"); ok && k.By == owned.Key && isParent(k.Prefix) {
				w.parents[k.Prefix+id] = account
			}
			if account != "" && k.Apart == "" {
				w.counts.add(account, int64(len(r.Key)+r.Size), minuteOf(r.Expires))
			}
		}
		if len(page) < pageOfKeys {
			return ctx.Err()
		}
	}
}

// owner is the account of a record; empty: it is not known.
func (w *recordWalk) owner(ctx context.Context, k owned.Kind, key string) (string, error) {
	part, _, _ := strings.Cut(strings.TrimPrefix(key, k.Prefix), "/")
	switch k.By {
	case owned.Key:
		return part, nil
	case owned.Value:
		return w.ownerIn(ctx, key)
	}
	// There are few batches and schedules, and any number of tasks: those are read again.
	if of, _, _ := owned.Of(k.Of); of.By == owned.Value {
		return w.ownerIn(ctx, k.Of+part)
	}
	return w.parents[k.Of+part], nil
}

// ownerIn reads the account of a record in it.
func (w *recordWalk) ownerIn(ctx context.Context, key string) (string, error) {
	r, err := w.store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var of struct {
		Account string `json:"account"`
	}
	_ = json.Unmarshal(r.Value, &of) // what cannot be read is told of by its readers
	return of.Account, nil
}
