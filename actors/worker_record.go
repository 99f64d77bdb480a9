package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
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

func (w *workerRecord) spec() WorkerSpec {
	return WorkerSpec{ID: w.ID, Name: w.Name, Owner: w.Owner, added: true}
}

// MaxWorkers is how many workers a node may have.
const MaxWorkers = 512

var (
	workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	// sharedName matches what SharedWorkers calls its workers.
	sharedName = regexp.MustCompile(`(^|-)worker-[0-9]+$`)
)

// What an operator is told.
const (
	stopping  = "the service is stopping"
	ownerGone = "the account was removed"
)

var tooMany = fmt.Sprintf("there are %d workers, and there can be no more", MaxWorkers)

func noWorker(who string) string  { return fmt.Sprintf("there is no worker %q", who) }
func nameTaken(who string) string { return fmt.Sprintf("there is a worker %q already", who) }

// CheckWorkerName says what is wrong with a name for a worker that is added.
func CheckWorkerName(name string) error {
	switch {
	case !workerName.MatchString(name):
		return fmt.Errorf("the name %q is not 1 to 64 of letters, digits and . _ -, beginning with a letter or a digit", name)
	case sharedName.MatchString(name):
		return fmt.Errorf("names such as %q belong to the workers that come with the service: choose another one", name)
	}
	return nil
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

// recoverWorkers adds the workers of earlier times to those of the configuration.
func (n *nodeParts) recoverWorkers(ctx context.Context) error {
	added, err := n.records.workers(ctx, func(w workerRecord) bool { return w.Node == n.cfg.Node })
	if err != nil {
		return err
	}
	all := slices.Clone(n.cfg.Workers)
	for _, w := range added {
		all = append(all, w.spec())
	}
	if err := checkWorkers(all); err != nil {
		return fmt.Errorf("add the workers of the store to those of the configuration: %w", err)
	}
	n.cfg.Workers = all
	return nil
}
