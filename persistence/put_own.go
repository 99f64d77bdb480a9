package persistence

import (
	"bytes"
	"context"
	"errors"
)

// PutOwn is [Store.Put] for a value that no other write has, or of which it does not matter
// whose it is. A write without an answer may have been stored. So the value is looked for,
// and if it is there, the write has succeeded. A counter is no such value.
func PutOwn(ctx context.Context, store Store, w Write) (uint64, error) {
	revision, err := store.Put(ctx, w)
	if !errors.Is(err, ErrNoQuorum) {
		return revision, err
	}
	r, no := store.Get(ctx, w.Key)
	if no != nil || !bytes.Equal(r.Value, w.Value) || w.If != nil && r.Revision <= *w.If {
		return 0, err
	}
	return r.Revision, nil
}
