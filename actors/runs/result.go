package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// ResultPrefix is how the keys of results that are kept with their runs begin.
const ResultPrefix = "run-result/"

var (
	_ = sealed.Register(sealed.Kind{Prefix: ResultPrefix, Holds: "results that are kept with their runs"})
	_ = owned.Register(owned.Kind{Prefix: ResultPrefix, By: owned.Key})
)

// resultKey is where the result of the run with a key is.
func resultKey(key string) string { return ResultPrefix + strings.TrimPrefix(key, Prefix) }

// BoundBy says how much the accounts of a plan may store: a result for which there is no room
// is not kept.
func (h *History) BoundBy(within func(engine.Plan) persistence.Allowance) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.within = within
}

// keepsResult reports whether a copy of the result is to be kept with the run.
func (h *History) keepsResult(r *Run) bool { return r.KeepResult || h.cfg.Bounds.Results }

// resultItem is the copy of the result, to be written before the record of its run, which says
// that it is there; false: there is none, or no room for it.
func (h *History) resultItem(r *Run) (persistence.Item, bool) {
	r.Kept = false
	if len(r.data) == 0 || !h.keepsResult(r) {
		return persistence.Item{}, false
	}
	h.mu.Lock()
	within := h.within
	h.mu.Unlock()
	if within != nil {
		if err := h.cfg.Values.Full(r.Account, within(r.Plan)); err != nil {
			h.cfg.Log.Warn().Err(err).Str("task", r.ID).Msg("result not kept with its run")
			return persistence.Item{}, false
		}
	}
	r.Kept = true
	return persistence.Item{Key: resultKey(Key(r.Account, r.ID)), Account: r.Account, Value: r.data, Expires: r.Ended.Add(h.cfg.Bounds.Keep)}, true
}

// Result is the copy of the result that is kept with a run; nil: there is none.
func (h *History) Result(ctx context.Context, r *Run) (json.RawMessage, error) {
	if h == nil || !r.Kept {
		return nil, nil
	}
	b, err := h.cfg.Values.Get(ctx, resultKey(Key(r.Account, r.ID)))
	if errors.Is(err, persistence.ErrNotFound) { // it was removed with its run, a moment ago
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of the run %s: %w", r.ID, err)
	}
	return b, nil
}

// drop removes the record of a run, and before it the result that it names.
func drop(ctx context.Context, store persistence.Store, values *persistence.ValueStore, account, key string, durable bool) error {
	result := resultKey(key)
	if _, err := store.Get(ctx, result); !errors.Is(err, persistence.ErrNotFound) { // most runs have none, and to ask is cheaper
		if err := values.DeleteOf(ctx, account, result, durable); err != nil {
			return fmt.Errorf("remove the result of a run: %w", err)
		}
	}
	if err := values.DeleteOf(ctx, account, key, durable); err != nil {
		return fmt.Errorf("remove a run: %w", err)
	}
	return nil
}
