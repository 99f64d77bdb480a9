package records

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"troupe/persistence"
	"troupe/persistence/owned"
)

// WorkerPrefix begins the keys of workers.
const WorkerPrefix = "worker/"

var _ = owned.Register(owned.Kind{Prefix: WorkerPrefix, By: owned.Nobody, Apart: "there are as many as the service has workers"})

// Worker is the record of a worker that was added, with all that is needed to
// start it again.
type Worker struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Owner string    `json:"owner,omitempty"` // account; empty: shared
	Node  string    `json:"node,omitempty"`
	Added time.Time `json:"added"`
}

// PutWorker writes the record of a worker.
func (r *Store) PutWorker(ctx context.Context, w Worker) error {
	b, err := json.Marshal(w)
	if err == nil {
		_, err = r.Store.Put(ctx, persistence.Write{Key: WorkerPrefix + w.ID, Value: b, Durable: true})
	}
	if err != nil {
		return fmt.Errorf("keep worker %s: %w", w.ID, err)
	}
	return nil
}

// EraseWorker removes the record of a worker.
func (r *Store) EraseWorker(ctx context.Context, id string) error {
	if err := r.Store.Delete(ctx, WorkerPrefix+id, nil, true); err != nil {
		return fmt.Errorf("forget worker %s: %w", id, err)
	}
	return nil
}

// Workers reads the workers that were added and that is accepts, oldest first.
func (r *Store) Workers(ctx context.Context, is func(Worker) bool) ([]Worker, error) {
	var all []Worker
	err := EachJSON(ctx, r, WorkerPrefix, func(w Worker) {
		if is(w) {
			all = append(all, w)
		}
	})
	slices.SortFunc(all, func(a, b Worker) int { return a.Added.Compare(b.Added) })
	return all, err
}
