package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"troupe/engine"
	"troupe/persistence"
)

// BatchSum counts the items of a batch that have ended.
type BatchSum struct {
	Ended  int                         `json:"ended"`
	Failed map[engine.Code]BatchFailed `json:"failed"`
}

// BatchFailed counts those that failed with a code.
type BatchFailed struct {
	Count int `json:"count"`
	Item  int `json:"item"` // the first of them
}

// Sum counts the items of a batch that have ended, by their keys. Items that were sent
// again are read: what is written of them may be of an earlier round.
func (u Batches) Sum(ctx context.Context, batch string, rounds bool) (s BatchSum, err error) {
	s.Failed = map[engine.Code]BatchFailed{}
	if err := u.keys(ctx, batchEndPrefix+batch+"/", "", func(string) error { s.Ended++; return nil }); err != nil {
		return s, err
	}
	return s, u.keys(ctx, batchFailPrefix+batch+"/", "", func(key string) error {
		item, code, err := failedItem(key)
		if err != nil {
			return err
		}
		if rounds {
			e, err := u.EndOf(ctx, batch, item)
			if err != nil || e == nil || e.Code != code {
				return err
			}
		}
		f := s.Failed[code]
		if f.Count++; f.Count == 1 {
			f.Item = item
		}
		s.Failed[code] = f
		return nil
	})
}

func failedItem(key string) (item int, code engine.Code, err error) {
	item, err = itemOf(key, 2)
	return item, engine.Code(key[strings.LastIndexByte(key, '/')+1:]), err
}

// keys calls f for all keys behind one.
func (u Batches) keys(ctx context.Context, prefix, after string, f func(key string) error) error {
	for {
		list, err := u.r.Store.Keys(ctx, prefix, after, surveyed)
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		for _, k := range list {
			after = k.Key
			if err := f(k.Key); err != nil {
				return err
			}
		}
		if len(list) < surveyed {
			return nil
		}
	}
}

// Failed finds items of a batch that have failed, from an item on. Next is where they
// are read on; negative: there are no more.
func (u Batches) Failed(ctx context.Context, batch string, from, most int) (items []int, next int, err error) {
	prefix := batchFailPrefix + batch + "/"
	list, err := u.r.Store.Keys(ctx, prefix, numbered(batchFailPrefix, batch, from), most)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", prefix, err)
	}
	for _, k := range list {
		item, code, err := failedItem(k.Key)
		if err != nil {
			return nil, 0, err
		}
		next = item + 1
		e, err := u.EndOf(ctx, batch, item)
		if err != nil {
			return nil, 0, err
		}
		if e != nil && e.Code == code && (len(items) == 0 || items[len(items)-1] != item) {
			items = append(items, item)
		}
	}
	if len(list) < most {
		next = -1
	}
	return items, next, nil
}

// BatchEnded is an item that has ended.
type BatchEnded struct {
	Item   int
	End    *BatchEnd
	Cursor string // of what follows
}

// ByEnd lists items in the order in which they ended, up to an order that may still be
// written.
func (u Batches) ByEnd(ctx context.Context, batch, cursor string, before uint64, most int) (all []BatchEnded, next string, err error) {
	prefix, after := batchOrderPrefix+batch+"/", ""
	if next = cursor; cursor != "" {
		after = prefix + cursor
	}
	list, err := u.r.Store.Keys(ctx, prefix, after, most)
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", prefix, err)
	}
	for _, k := range list {
		at := strings.TrimPrefix(k.Key, prefix)
		order, err := strconv.ParseUint(at[:strings.IndexByte(at, '/')], 16, 64)
		if err != nil {
			return nil, "", fmt.Errorf("read %s: %w", k.Key, err)
		}
		if order >= before {
			break
		}
		item, err := itemOf(k.Key, 1)
		if err != nil {
			return nil, "", err
		}
		next = at
		e, err := u.EndOf(ctx, batch, item)
		if err != nil {
			return nil, "", err
		}
		if e != nil && e.Order == order {
			all = append(all, BatchEnded{item, e, at})
		}
	}
	return all, next, nil
}

// ByItem lists up to so many items in their own order, up to the first one that has not
// ended. With skip, those are left out. Next is the item that comes then.
func (u Batches) ByItem(ctx context.Context, batch string, from, to int, skip bool) (all []BatchEnded, next int, err error) {
	for next = from; next < to; next++ {
		e, err := u.EndOf(ctx, batch, next)
		if err != nil || e == nil && !skip {
			return all, next, err
		}
		if e != nil {
			all = append(all, BatchEnded{next, e, strconv.Itoa(next + 1)})
		}
	}
	return all, next, nil
}

// ReadItem reads an item; nil where it is gone, or cannot be read.
func (u Batches) ReadItem(ctx context.Context, batch string, item int) (json.RawMessage, error) {
	b, err := u.Item(ctx, batch, item)
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrSealed) {
		return nil, nil
	}
	return b, err
}
