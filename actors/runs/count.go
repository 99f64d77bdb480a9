package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Count is how many runs of an hour have ended alike.
type Count struct {
	Hour  time.Time
	State api.TaskStatus
	Code  engine.Code
	Runs  int
	Ran   time.Duration // of all of them together
}

// Counts counts the runs of a query by the hour in which they were asked for, and by code. The
// counts of a part are to be added to those of the parts before.
func (h *History) Counts(ctx context.Context, q Query) (all []Count, next string, err error) {
	type slot struct {
		hour time.Time
		code engine.Code
		st   api.TaskStatus
	}
	by := map[slot]*Count{}
	var unreadable []string
	next, err = h.scan(ctx, q, &unreadable, func(r *Run) bool {
		s := slot{r.Time().UTC().Truncate(time.Hour), r.Code, r.State}
		if by[s] == nil {
			by[s] = &Count{Hour: s.hour, State: s.st, Code: s.code}
		}
		by[s].Runs++
		by[s].Ran += r.Ran
		return true
	})
	for _, c := range by {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(b.Hour.Compare(a.Hour), cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.State, b.State), cmp.Compare(a.Code, b.Code))
	})
	return all, next, err
}

// DeleteAll removes the runs of a query. Next is the cursor where there may be more.
func (h *History) DeleteAll(ctx context.Context, q Query) (n int, next string, err error) {
	var unreadable []string
	var found []string
	next, err = h.scan(ctx, q, &unreadable, func(r *Run) bool {
		found = append(found, Key(r.Account, r.ID))
		return len(found) < pruneStep
	})
	if err == nil && len(found) > 0 {
		err = h.fold(ctx, q.Account)
	}
	for _, key := range found {
		if err == nil {
			err = drop(ctx, h.cfg.Store, h.cfg.Values, q.Account, key, false)
		}
		if err == nil {
			n++
		}
	}
	if err == nil && n > 0 {
		err = h.cfg.Store.Sync(ctx)
	}
	return n, next, err
}
