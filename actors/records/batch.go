package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
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
	Told    bool            `json:"told,omitempty"`   // of several nodes: its notices are written

	Schedule *api.ScheduleRef `json:"schedule,omitempty"` // that it is a run of; nil: none
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

var (
	_ = sealed.Register(sealed.Kind{Prefix: BatchPrefix, Holds: "batches"})
	_ = sealed.Register(sealed.Kind{Prefix: batchItemPrefix, Holds: "items of batches"})
	_ = owned.Register(owned.Kind{Prefix: BatchPrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: batchItemPrefix, By: owned.Parent, Of: BatchPrefix})
	_ = owned.Register(owned.Kind{Prefix: batchEndPrefix, By: owned.Parent, Of: BatchPrefix})
	_ = owned.Register(owned.Kind{Prefix: batchOrderPrefix, By: owned.Parent, Of: BatchPrefix})
	_ = owned.Register(owned.Kind{Prefix: batchFailPrefix, By: owned.Parent, Of: BatchPrefix})
	_ = owned.Register(owned.Kind{Prefix: batchPartPrefix, By: owned.Parent, Of: BatchPrefix})
	_ = owned.Register(owned.Kind{Prefix: batchAtPrefix, By: owned.Parent, Of: BatchPrefix})
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

// Put writes the record of a batch over a revision of it; zero: there is none yet. What is
// written of a batch is written over what was read, so of two nodes that both believe to
// have it, one goes on. The other one gets a conflict.
func (u Batches) Put(ctx context.Context, b Batch, over uint64) (revision uint64, err error) {
	value, err := json.Marshal(b)
	if err != nil {
		return 0, fmt.Errorf("write the batch %s: %w", b.ID, err)
	}
	return u.r.Sealed.PutRevision(ctx, persistence.Item{Key: BatchKey(b.Account, b.ID), Account: b.Account, Value: value, Durable: true, Over: &over})
}

// StoredBatch is a batch with the revision of its record.
type StoredBatch struct {
	Batch
	Revision uint64
}

// Read reads a batch.
func (u Batches) Read(ctx context.Context, account, id string) (StoredBatch, error) {
	return u.at(ctx, BatchKey(account, id))
}

func (u Batches) at(ctx context.Context, key string) (b StoredBatch, err error) {
	value, revision, err := u.r.Sealed.GetRevision(ctx, key)
	if err != nil {
		return b, err
	}
	b.Revision = revision
	if err := json.Unmarshal(value, &b.Batch); err != nil {
		return b, fmt.Errorf("read %s: %w", key, err)
	}
	return b, nil
}

// All reads all batches. One that cannot be read is logged and skipped.
func (u Batches) All(ctx context.Context) (all []StoredBatch, err error) {
	for after := ""; ; {
		list, err := u.r.Store.Keys(ctx, BatchPrefix, after, surveyed)
		if err != nil {
			return nil, fmt.Errorf("list the batches: %w", err)
		}
		var mu sync.Mutex
		_ = InParallel(list, func(k persistence.KeySize) error {
			b, err := u.at(ctx, k.Key)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				all = append(all, b)
			case !errors.Is(err, persistence.ErrNotFound):
				u.r.log.Error().Err(err).Str("key", k.Key).Msg("record not read")
			}
			return nil
		})
		if len(list) < surveyed {
			return all, ctx.Err()
		}
		after = list[len(list)-1].Key
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

// PutPart writes a part durably, and how far the batch is with it, over the revision of
// what was written of that before. A part is written once: the tasks of a second one would
// be others.
func (u Batches) PutPart(ctx context.Context, account, batch string, p BatchPart, over uint64) (revision uint64, err error) {
	b, err := json.Marshal(p)
	if err == nil {
		err = u.r.Plain.Put(ctx, persistence.Item{Key: numbered(batchPartPrefix, batch, p.Number), Account: account, Value: b, Durable: true, New: true})
	}
	if err != nil {
		return 0, fmt.Errorf("write a part of the batch %s: %w", batch, err)
	}
	return u.PutAt(ctx, account, batch, p.After, over)
}

// PutAt writes how far a batch is, over a revision of that.
func (u Batches) PutAt(ctx context.Context, account, batch string, at BatchAt, over uint64) (revision uint64, err error) {
	b, err := json.Marshal(at)
	if err != nil {
		return 0, fmt.Errorf("write how far a batch is: %w", err)
	}
	return u.r.Plain.PutRevision(ctx, persistence.Item{Key: batchAtPrefix + batch, Account: account, Value: b, Over: &over})
}

// DeletePart removes a part whose items have all ended.
func (u Batches) DeletePart(ctx context.Context, batch string, number int) error {
	return u.r.Plain.Delete(ctx, numbered(batchPartPrefix, batch, number), false)
}

// Parts reads the parts with items that may not have ended, and how far the batch is, with
// the revision of that.
func (u Batches) Parts(ctx context.Context, batch string) (parts []BatchPart, at BatchAt, revision uint64, err error) {
	b, revision, err := u.r.Plain.GetRevision(ctx, batchAtPrefix+batch)
	if err == nil {
		err = json.Unmarshal(b, &at)
	}
	if err != nil && !errors.Is(err, persistence.ErrNotFound) {
		return nil, at, 0, err
	}
	list, err := u.r.Store.Keys(ctx, batchPartPrefix+batch+"/", "", surveyed)
	if err != nil {
		return nil, at, 0, fmt.Errorf("list the parts of a batch: %w", err)
	}
	for _, k := range list {
		var p BatchPart
		switch err := ReadJSON(ctx, u.r.Plain, k.Key, &p); {
		case errors.Is(err, persistence.ErrNotFound): // another node has removed it just now
			continue
		case err != nil:
			return nil, at, 0, err
		}
		if parts = append(parts, p); p.After.Part > at.Part {
			at = p.After
		}
	}
	return parts, at, revision, nil
}

// itemOf reads a part of a key as the number of an item: the first one counts from the
// end.
func itemOf(key string, fromEnd int) (int, error) {
	parts := strings.Split(key, "/")
	return strconv.Atoi(parts[len(parts)-fromEnd])
}

// Unreadable are the identifiers of the batches of an account that cannot be opened. It knows
// those that were skipped when all were read.
func (u Batches) Unreadable(ctx context.Context, account string) ([]string, error) {
	return u.r.unreadable(ctx, BatchPrefix+account+"/")
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
