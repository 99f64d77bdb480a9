package records

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"troupe/persistence"
)

// changes are several writes that follow each other: see [persistence.Apply]. The first
// error counts.
type changes struct {
	all    []persistence.Change
	values []*persistence.ValueChange
	err    error
}

func (w *changes) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// encode writes a value in JSON.
func (w *changes) encode(key string, v any) ([]byte, bool) {
	b, err := json.Marshal(v)
	if err != nil {
		w.fail(fmt.Errorf("write %s: %w", key, err))
	}
	return b, err == nil
}

// record adds the writing of a record.
func (w *changes) record(key string, expires time.Time, v any, known persistence.Known, durable bool) {
	if b, ok := w.encode(key, v); ok {
		w.all = append(w.all, persistence.Change{Write: persistence.Write{Key: key, Value: b, Expires: expires, Known: known, Durable: durable}})
	}
}

// counted adds the writing of a record that stays in an account's room until it expires.
func (w *changes) counted(s *persistence.ValueStore, account, key string, expires time.Time, v any, known persistence.Known, durable bool) {
	if b, ok := w.encode(key, v); ok {
		w.add(s.Counted(account, persistence.Write{Key: key, Value: b, Expires: expires, Known: known, Durable: durable}), nil)
	}
}

// value adds the writing of a value, bytes that of an encoded one.
func (w *changes) value(ctx context.Context, s *persistence.ValueStore, it persistence.Item, v any) {
	if b, ok := w.encode(it.Key, v); ok {
		it.Value = b
		w.bytes(ctx, s, it)
	}
}

func (w *changes) bytes(ctx context.Context, s *persistence.ValueStore, it persistence.Item) {
	w.add(s.Change(ctx, it))
}

func (w *changes) add(v *persistence.ValueChange, err error) {
	if err != nil {
		w.fail(err)
		return
	}
	w.all, w.values = append(w.all, v.Change), append(w.values, v)
}

// apply carries out what was added since the last call.
func (w *changes) apply(ctx context.Context, s persistence.Store) error {
	err := w.err
	if err == nil {
		err = persistence.Apply(ctx, s, w.all...)
	}
	for _, v := range w.values {
		if after := v.Done(ctx, err); err == nil {
			err = after
		}
	}
	*w = changes{}
	return err
}

// Writes are changes that are written together with those of others.
type Writes struct {
	changes
	run  string // the account of the run among them; empty: there is none
	what string // for errors
}

// WriteEach writes several, each as if it were alone, and tells what came of each, in their
// order: see [persistence.ApplyEach].
func (r *Store) WriteEach(ctx context.Context, all []*Writes, then func(i int, err error)) {
	lists := make([][]persistence.Change, len(all))
	for i, w := range all {
		if w.err == nil {
			lists[i] = w.all
		}
	}
	persistence.ApplyEach(ctx, r.Store, lists, func(i int, err error) {
		w := all[i]
		if w.err != nil {
			err = w.err
		}
		for _, v := range w.values {
			if after := v.Done(ctx, err); err == nil {
				err = after
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", w.what, err)
		} else if w.run != "" {
			r.Runs.Wrote(w.run)
		}
		then(i, err)
	})
}
