package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"troupe/persistence"
)

const workerPrefix = "worker/"

// workerRecord is what is on disk of a worker that was added: enough to start it
// again.
type workerRecord struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Owner string    `json:"owner,omitempty"` // account; empty: shared
	Node  string    `json:"node,omitempty"`
	Added time.Time `json:"added"`
}

func (r *records) keepWorker(ctx context.Context, w workerRecord) error {
	b, err := json.Marshal(w)
	if err == nil {
		_, err = r.store.Put(ctx, persistence.Write{Key: workerPrefix + w.ID, Value: b, Durable: true})
	}
	if err != nil {
		return fmt.Errorf("keep worker %s: %w", w.ID, err)
	}
	return nil
}

// forgetWorker removes the record of a worker.
func (r *records) forgetWorker(ctx context.Context, id string) error {
	if err := r.store.Delete(ctx, workerPrefix+id, nil, true); err != nil {
		return fmt.Errorf("forget worker %s: %w", id, err)
	}
	return nil
}

// workers reads the workers that were added, in the order in which they were.
func (r *records) workers(ctx context.Context, is func(workerRecord) bool) ([]workerRecord, error) {
	var all []workerRecord
	err := eachJSON(ctx, r, workerPrefix, func(w workerRecord) {
		if is(w) {
			all = append(all, w)
		}
	})
	slices.SortFunc(all, func(a, b workerRecord) int { return a.Added.Compare(b.Added) })
	return all, err
}
