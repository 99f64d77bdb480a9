package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
)

// EndOf reads how an item has ended; nil: it has not.
func (u Batches) EndOf(ctx context.Context, batch string, item int) (*BatchEnd, error) {
	e, _, err := u.endAt(ctx, batch, item)
	return e, err
}

func (u Batches) endAt(ctx context.Context, batch string, item int) (e *BatchEnd, revision uint64, err error) {
	rec, err := u.r.Store.Get(ctx, numbered(batchEndPrefix, batch, item))
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", rec.Key, err)
	}
	return e, rec.Revision, nil
}

// of reports whether this end settles an item that has a task in a round: an item ends once
// in each.
func (e *BatchEnd) of(task string, round int) bool {
	return e != nil && (e.Task == task || e.Round >= round)
}

func failKey(of api.BatchRef, code engine.Code) string {
	return numbered(batchFailPrefix, of.Batch, of.Item) + "/" + string(code)
}

func orderKey(of api.BatchRef, order uint64) string {
	return fmt.Sprintf("%s%s/%014x/%010d", batchOrderPrefix, of.Batch, order, of.Item)
}

// End writes how the task of an item has ended. Repeated for the same task or the same
// round, it changes nothing: what was read once as the item's end stays that.
func (u Batches) End(ctx context.Context, of api.BatchRef, e BatchEnd) error {
	was, over, err := u.endAt(ctx, of.Batch, of.Item)
	if err != nil || was.of(e.Task, e.Round) {
		return err
	}
	put := func(key string, value []byte, over *uint64) error {
		_, err := persistence.PutOwn(ctx, u.r.Store, persistence.Write{Key: key, Value: value, If: over})
		return err
	}
	drop := func(key string) error { return u.r.Store.Delete(ctx, key, nil, false) }
	if was != nil {
		err = errors.Join(drop(failKey(of, was.Code)), drop(orderKey(of, was.Order)))
	}
	b, no := json.Marshal(e)
	if err == nil {
		err = no
	}
	if err == nil && e.Status == api.TaskFailed {
		err = put(failKey(of, e.Code), []byte(e.Task), nil)
	}
	if err == nil {
		err = put(orderKey(of, e.Order), nil, nil)
	}
	if err == nil {
		err = put(numbered(batchEndPrefix, of.Batch, of.Item), b, &over)
	}
	if errors.Is(err, persistence.ErrConflict) { // another node has written it
		if was, _, err = u.endAt(ctx, of.Batch, of.Item); err == nil && !was.of(e.Task, e.Round) {
			err = persistence.ErrConflict
		}
	}
	if err != nil {
		return fmt.Errorf("write the end of an item of the batch %s: %w", of.Batch, err)
	}
	return nil
}

// Settled is what became of a task that was given to the queue. Without an end, and where
// nobody has it, the queue may never have got it.
type Settled struct {
	End    *BatchEnd // of its item; nil: it has not ended
	Begun  bool      // it has a record of its own: it runs, or waits for another attempt
	Runs   bool
	Queued bool // its record is in the queue
}

// Settle finds out what became of a task that was given to the queue. The end of a task
// that the batch does not know of yet is written at the place that order says. Of a batch
// that is cancelled, nobody has a task that was cancelled before it began.
func (u Batches) Settle(ctx context.Context, account string, of api.BatchRef, task string, cancelled bool, order func() uint64) (s Settled, err error) {
	for range 2 { // it may begin and end in between
		if s.End, err = u.EndOf(ctx, of.Batch, of.Item); err != nil || s.End.of(task, of.Round) {
			return s, err
		}
		s.End = nil
		t, _, err := u.r.taskAt(ctx, task)
		switch {
		case err == nil && t.Status == api.TaskPending:
			return Settled{Begun: true, Runs: t.Queue != nil && !t.Queue.Waiting}, nil
		case err == nil && cancelled && t.Queue != nil && t.NeverBegan(t.Queue.Code):
			return Settled{}, nil
		case err == nil: // what has ended it did not tell the batch
			e := BatchEnd{Task: task, Status: t.Status, Ended: t.Ended, Round: of.Round, Order: order()}
			if t.Queue != nil {
				e.Attempts, e.Code = t.Queue.Attempts, t.Queue.Code
				e.Status = outcome.Counted(t.Status, e.Code)
			}
			if t.Status == api.TaskFailed && e.Code == "" {
				e.Code = engine.CodeInterrupted
			}
			return Settled{End: &e}, u.End(ctx, of, e)
		case !errors.Is(err, persistence.ErrNotFound):
			return s, err
		}
		if _, _, err = u.r.Queue().Find(ctx, account, task); err == nil {
			return Settled{Queued: true}, nil
		} else if !errors.Is(err, persistence.ErrNotFound) {
			return s, err
		}
	}
	return Settled{}, nil
}

// LastOrder is the last place in the list of ends that has one.
func (u Batches) LastOrder(ctx context.Context, batch string) (last uint64, err error) {
	prefix := batchOrderPrefix + batch + "/"
	at := sort.Search(1<<56-1, func(order int) bool {
		if err != nil {
			return true
		}
		var behind []persistence.KeySize
		behind, err = u.r.Store.Keys(ctx, prefix, fmt.Sprintf("%s%014x", prefix, order+1), 1)
		return len(behind) == 0
	})
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", prefix, err)
	}
	return uint64(at), nil
}
