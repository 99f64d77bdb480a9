package actors

import (
	"context"
	"errors"
	"fmt"

	"troupe/persistence"
)

// eraseAccount removes all that is on disk of an account. Nothing of it may go on
// any more. It may be called again where it has failed.
func (r *records) eraseAccount(ctx context.Context, account string) error {
	var ends []func() error
	keep := func(f func() error) { ends = append(ends, f) }
	errs := []error{
		eachJSON(ctx, r, taskPrefix, func(t taskRecord) {
			if t.Account == account {
				keep(func() error { return r.eraseTask(ctx, t.ID) })
			}
		}),
		eachJSON(ctx, r, sessionPrefix, func(s sessionRecord) {
			if s.Account == account {
				keep(func() error { return r.eraseSession(ctx, s) })
			}
		}),
		eachJSON(ctx, r, workerPrefix, func(w workerRecord) {
			if w.Owner == account {
				keep(func() error { return r.forgetWorker(ctx, w.ID) })
			}
		}),
	}
	list, err := r.store.List(ctx, keysOf(account))
	for _, k := range list {
		keep(func() error { return r.plain.Delete(ctx, k.Key, true) })
	}
	errs = append(errs, err, together(ends, func(f func() error) error { return f() }),
		persistence.NewUsage(r.store).Forget(ctx, account))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("erase account %s: %w", account, err)
	}
	return nil
}

func (r *records) eraseTask(ctx context.Context, id string) error {
	return errors.Join(r.plain.Delete(ctx, outcomePrefix+id, true), r.store.Delete(ctx, taskPrefix+id, nil, true))
}
