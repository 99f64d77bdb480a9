package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// Batch is the record of a batch. Its items have records of their own.
type Batch struct {
	ID      string          `json:"id"`
	Account string          `json:"account"`
	Plan    engine.Plan     `json:"plan"`
	Name    string          `json:"name,omitempty"`
	Key     string          `json:"key,omitempty"` // that makes its request safe to repeat
	Task    json.RawMessage `json:"task"`          // as [engine.Task] is encoded
	State   api.BatchState  `json:"state"`
	Items   int             `json:"items"`
	Bytes   int64           `json:"bytes"` // of the items
	Created time.Time       `json:"created"`
	Ended   time.Time       `json:"ended,omitzero"`
	Keep    time.Duration   `json:"keep"` // how long it is kept after its end, and each result after its own
	Round   int             `json:"round,omitempty"`
	Notify  []engine.Notify `json:"notify,omitempty"` // told of its end
	Sum     *BatchSum       `json:"sum,omitempty"`    // once it has ended
}

// Expires is until when an ended batch is kept.
func (b *Batch) Expires() time.Time { return b.Ended.Add(b.Keep) }

// BatchEnd is how the task of an item has ended.
type BatchEnd struct {
	Task     string         `json:"task"`
	Status   api.TaskStatus `json:"status"`
	Code     engine.Code    `json:"code,omitempty"`
	Ended    time.Time      `json:"ended"`
	Attempts int            `json:"attempts"`
	Round    int            `json:"round,omitempty"`
	Order    uint64         `json:"order"` // its place in the list by ends
}

// BatchPart is some items that are given to the queue, with the identifiers of their
// tasks. It is written before they are, so that none is lost, and none begins twice.
type BatchPart struct {
	Number int         `json:"number"`
	Tasks  []BatchTask `json:"tasks"`
	After  BatchAt     `json:"after"` // how far the batch is with it
}

// BatchTask is the task of an item.
type BatchTask struct {
	Item  int    `json:"item"`
	Round int    `json:"round,omitempty"`
	Task  string `json:"task"`
}

// BatchAt is how far a batch is.
type BatchAt struct {
	Part  int `json:"part"` // the number of the next part
	Item  int `json:"item"` // the next item that was in none
	Round int `json:"round,omitempty"`
	Again int `json:"again,omitempty"` // where the failed items of the round are read on; negative: there are no more
}

// The keys of batches, and of what belongs to each, begin so.
const (
	BatchPrefix      = "batch/"
	batchItemPrefix  = "batchitem/"
	batchEndPrefix   = "batchend/"
	batchOrderPrefix = "batchorder/"
	batchFailPrefix  = "batchfail/"
	batchPartPrefix  = "batchpart/"
	batchAtPrefix    = "batchat/"
)

// Batches are the batches on the disk.
type Batches struct{ r *Store }

// Batches returns the batches.
func (r *Store) Batches() Batches { return Batches{r} }

func numbered(prefix, batch string, n int) string { return fmt.Sprintf("%s%s/%010d", prefix, batch, n) }

// BatchKey is where the record of a batch is.
func BatchKey(account, id string) string { return BatchPrefix + account + "/" + id }

// BatchItemKey is where an item is.
func BatchItemKey(batch string, item int) string { return numbered(batchItemPrefix, batch, item) }

// Put writes the record of a batch.
func (u Batches) Put(ctx context.Context, b Batch) error {
	return putJSON(ctx, u.r.Sealed, BatchKey(b.Account, b.ID), b.Account, time.Time{}, b)
}

// All reads all batches. One that cannot be read is logged and skipped.
func (u Batches) All(ctx context.Context) (all []Batch, err error) {
	for after := ""; ; {
		list, err := u.r.Store.Keys(ctx, BatchPrefix, after, surveyed)
		if err != nil {
			return nil, fmt.Errorf("list the batches: %w", err)
		}
		for _, k := range list {
			after = k.Key
			var b Batch
			switch err := ReadJSON(ctx, u.r.Sealed, k.Key, &b); {
			case err == nil:
				all = append(all, b)
			case !errors.Is(err, persistence.ErrNotFound):
				u.r.log.Error().Err(err).Str("key", k.Key).Msg("record not read")
			}
		}
		if len(list) < surveyed {
			return all, nil
		}
	}
}

// PutItems writes items of a batch, from an index on. They survive a loss of power with
// the next durable write.
func (u Batches) PutItems(ctx context.Context, account, batch string, from int, items []json.RawMessage) error {
	at := make([]int, len(items))
	for i := range at {
		at[i] = i
	}
	return InParallel(at, func(i int) error {
		return u.r.Sealed.Put(ctx, persistence.Item{Key: BatchItemKey(batch, from+i), Account: account, Value: items[i]})
	})
}

// Item reads an item.
func (u Batches) Item(ctx context.Context, batch string, item int) (json.RawMessage, error) {
	return u.r.Sealed.Get(ctx, BatchItemKey(batch, item))
}

// PutPart writes a part durably, and how far the batch is with it.
func (u Batches) PutPart(ctx context.Context, account, batch string, p BatchPart) error {
	if err := putJSON(ctx, u.r.Plain, numbered(batchPartPrefix, batch, p.Number), account, time.Time{}, p); err != nil {
		return err
	}
	return u.PutAt(ctx, account, batch, p.After)
}

// PutAt writes how far a batch is.
func (u Batches) PutAt(ctx context.Context, account, batch string, at BatchAt) error {
	b, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("write how far a batch is: %w", err)
	}
	return u.r.Plain.Put(ctx, persistence.Item{Key: batchAtPrefix + batch, Account: account, Value: b})
}

// DeletePart removes a part whose items have all ended.
func (u Batches) DeletePart(ctx context.Context, batch string, number int) error {
	return u.r.Plain.Delete(ctx, numbered(batchPartPrefix, batch, number), false)
}

// Parts reads the parts with items that may not have ended, and how far the batch is.
func (u Batches) Parts(ctx context.Context, batch string) (parts []BatchPart, at BatchAt, err error) {
	if err = ReadJSON(ctx, u.r.Plain, batchAtPrefix+batch, &at); err != nil && !errors.Is(err, persistence.ErrNotFound) {
		return nil, at, err
	}
	list, err := u.r.Store.Keys(ctx, batchPartPrefix+batch+"/", "", surveyed)
	if err != nil {
		return nil, at, fmt.Errorf("list the parts of a batch: %w", err)
	}
	for _, k := range list {
		var p BatchPart
		if err := ReadJSON(ctx, u.r.Plain, k.Key, &p); err != nil {
			return nil, at, err
		}
		if parts = append(parts, p); p.After.Part > at.Part {
			at = p.After
		}
	}
	return parts, at, nil
}

// EndOf reads how an item has ended; nil: it has not.
func (u Batches) EndOf(ctx context.Context, batch string, item int) (*BatchEnd, error) {
	e := new(BatchEnd)
	rec, err := u.r.Store.Get(ctx, numbered(batchEndPrefix, batch, item))
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(rec.Value, e); err != nil {
		return nil, fmt.Errorf("read %s: %w", rec.Key, err)
	}
	return e, nil
}

func failKey(of api.BatchRef, code engine.Code) string {
	return numbered(batchFailPrefix, of.Batch, of.Item) + "/" + string(code)
}

func orderKey(of api.BatchRef, order uint64) string {
	return fmt.Sprintf("%s%s/%014x/%010d", batchOrderPrefix, of.Batch, order, of.Item)
}

// End writes how the task of an item has ended. Repeated for the same task, it changes
// nothing: what was read once as the item's end stays that.
func (u Batches) End(ctx context.Context, of api.BatchRef, e BatchEnd) error {
	was, err := u.EndOf(ctx, of.Batch, of.Item)
	if err != nil {
		return err
	}
	put := func(key string, value []byte) error {
		_, err := u.r.Store.Put(ctx, persistence.Write{Key: key, Value: value})
		return err
	}
	drop := func(key string) error { return u.r.Store.Delete(ctx, key, nil, false) }
	if was != nil {
		if was.Task == e.Task {
			return nil
		}
		err = errors.Join(drop(failKey(of, was.Code)), drop(orderKey(of, was.Order)))
	}
	b, no := json.Marshal(e)
	if err == nil {
		err = no
	}
	if err == nil && e.Status == api.TaskFailed {
		err = put(failKey(of, e.Code), []byte(e.Task))
	}
	if err == nil {
		err = put(orderKey(of, e.Order), nil)
	}
	if err == nil {
		err = put(numbered(batchEndPrefix, of.Batch, of.Item), b)
	}
	if err != nil {
		return fmt.Errorf("write the end of an item of the batch %s: %w", of.Batch, err)
	}
	return nil
}

// Settle finds out what became of a task that was given to the queue: it waits or runs,
// its item has ended, or, where both are false, the queue does not have it.
func (u Batches) Settle(ctx context.Context, account string, of api.BatchRef, task string, order func() uint64) (live, ended bool, err error) {
	e, err := u.EndOf(ctx, of.Batch, of.Item)
	if err != nil || e != nil && (e.Task == task || e.Round > of.Round) {
		return false, err == nil, err
	}
	t, _, err := u.r.taskAt(ctx, task)
	switch {
	case err == nil && t.Ended.IsZero():
		return true, false, nil
	case err == nil: // its record in the queue could not be read at its end
		e := BatchEnd{Task: task, Status: t.Status, Ended: t.Ended, Attempts: t.Queue.Attempts, Round: of.Round, Order: order()}
		if t.Status == api.TaskFailed {
			e.Code = engine.CodeInterrupted
		}
		return false, true, u.End(ctx, of, e)
	case errors.Is(err, persistence.ErrNotFound):
		_, _, err = u.r.Queue().Find(ctx, account, task)
	}
	if errors.Is(err, persistence.ErrNotFound) {
		return false, false, nil
	}
	return err == nil, false, err
}

// itemOf reads a part of a key as the number of an item: the first one counts from the
// end.
func itemOf(key string, fromEnd int) (int, error) {
	parts := strings.Split(key, "/")
	return strconv.Atoi(parts[len(parts)-fromEnd])
}

// Erase removes a batch with everything that belongs to it, its record last.
func (u Batches) Erase(ctx context.Context, account, id string) error {
	for _, prefix := range []string{batchItemPrefix, batchEndPrefix, batchOrderPrefix, batchFailPrefix, batchPartPrefix} {
		for {
			list, err := u.r.Store.Keys(ctx, prefix+id+"/", "", surveyed)
			if err != nil {
				return fmt.Errorf("remove the batch %s: %w", id, err)
			}
			if err := InParallel(list, func(k persistence.KeySize) error { return u.r.Plain.Delete(ctx, k.Key, false) }); err != nil {
				return fmt.Errorf("remove the batch %s: %w", id, err)
			}
			if len(list) < surveyed {
				break
			}
		}
	}
	if err := u.r.Plain.Delete(ctx, batchAtPrefix+id, false); err != nil {
		return err
	}
	return u.r.Plain.Delete(ctx, BatchKey(account, id), true)
}

// eraseAll removes all batches of an account.
func (u Batches) eraseAll(ctx context.Context, account string) error {
	for {
		list, err := u.r.Store.Keys(ctx, BatchPrefix+account+"/", "", surveyed)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, k := range list {
			if err := u.Erase(ctx, account, strings.TrimPrefix(k.Key, BatchPrefix+account+"/")); err != nil {
				return err
			}
		}
	}
}
