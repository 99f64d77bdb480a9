package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// LockAgain is [Profiles.Lock] for one who may have the right already, and has lost sight of
// it: a session that goes on in another process. The earlier one saves nothing any more.
func (p *Profiles) LockAgain(ctx context.Context, account, name, task string) (*ProfileWriter, error) {
	return p.writer(ctx, account, name, task, true)
}

// takeBack writes over the record of an earlier writer of the same task.
func (w *ProfileWriter) takeBack(ctx context.Context, task string) (uint64, error) {
	r, err := w.of.store.Get(ctx, w.key)
	if errors.Is(err, ErrNotFound) { // it was given back, or has expired
		return PutOwn(ctx, w.of.store, Write{Key: w.key, Value: w.value, Expires: w.ends, If: new(uint64)})
	}
	if err != nil {
		return 0, err
	}
	var had profileWriter
	if err := json.Unmarshal(r.Value, &had); err != nil {
		return 0, fmt.Errorf("read the writer of a profile: %w", err)
	}
	if had.Task != task {
		return 0, ErrConflict
	}
	return PutOwn(ctx, w.of.store, Write{Key: w.key, Value: w.value, Expires: w.ends, If: &r.Revision})
}

// Leave ends the writer and gives nothing back: until the record expires, only LockAgain of
// the same task gets the right.
func (w *ProfileWriter) Leave() { w.end() }
