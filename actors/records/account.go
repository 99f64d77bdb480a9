package records

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/runs"
	"troupe/persistence"
)

// EraseAccount removes all records of an account, which must not be in use any
// more. It may be repeated after an error.
func (r *Store) EraseAccount(ctx context.Context, account string) error {
	var ends []func() error
	keep := func(f func() error) { ends = append(ends, f) }
	errs := []error{
		EachJSON(ctx, r, TaskPrefix, func(t Task) {
			if t.Account == account {
				keep(func() error { return r.eraseTask(ctx, t.ID) })
			}
		}),
		EachJSON(ctx, r, SessionPrefix, func(s Session) {
			if s.Account == account {
				keep(func() error { return r.EraseSession(ctx, s) })
			}
		}),
		EachJSON(ctx, r, WorkerPrefix, func(w Worker) {
			if w.Owner == account {
				keep(func() error { return r.EraseWorker(ctx, w.ID) })
			}
		}),
	}
	errs = append(errs, r.Queue().erase(ctx, account), r.Batches().eraseAll(ctx, account), r.Schedules().eraseAll(ctx, account), r.Notices().eraseAll(ctx, account), runs.Erase(ctx, r.Store, r.Sealed, account), r.SessionFiles.EndAll(ctx, account))
	list, err := r.Store.List(ctx, keyPrefixOf(account))
	for _, k := range list {
		keep(func() error { return r.Plain.Delete(ctx, k.Key, true) })
	}
	errs = append(errs, err, InParallel(ends, func(f func() error) error { return f() }),
		persistence.NewUsage(r.Store).Forget(ctx, account))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("erase account %s: %w", account, err)
	}
	return nil
}

func (r *Store) eraseTask(ctx context.Context, id string) error {
	return errors.Join(r.Plain.Delete(ctx, OutcomePrefix+id, true), r.Store.Delete(ctx, TaskPrefix+id, nil, true))
}
