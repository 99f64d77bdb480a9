package records

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
)

// keepRun writes the run of a task, before the record of the task says that it has ended: a run
// that is missing would be missed. What it writes again is the same record. The end of a task
// does not wait for a run that cannot be written.
func (r *Store) keepRun(ctx context.Context, t Task, q *Queued, out *engine.Outcome) {
	if !r.Runs.Keeps() {
		return
	}
	run := r.runOf(t, q, out)
	if q == nil { // it was written when the task began
		begun, err := r.Runs.Find(ctx, t.Account, t.ID)
		switch {
		case err == nil:
			run = r.ends(begun, t, out)
		case errors.Is(err, persistence.ErrNotFound) && t.Queue == nil: // its record is only set up
			return
		}
	}
	if err := r.Runs.Put(ctx, run); err != nil {
		r.log.Error().Err(err).Str("task", t.ID).Msg("run not kept")
	}
}

// runOf is the run of a task of the queue.
func (r *Store) runOf(t Task, q *Queued, out *engine.Outcome) *runs.Run {
	x := &api.Execute{TaskID: t.ID, Account: api.Account{ID: t.Account}, Task: &engine.Task{Async: true}}
	if q == nil {
		return r.ends(runs.Of(x, t.Node), t, out)
	}
	x.Batch, x.Schedule, x.Asked, x.Account.Plan = q.Batch, q.Schedule, q.Asked, q.Plan
	if q.By != nil {
		x.By = *q.By
	}
	run := runs.Of(x, t.Node)
	run.Read(q.Task)
	return r.ends(run, t, out)
}

func (r *Store) ends(run *runs.Run, t Task, out *engine.Outcome) *runs.Run {
	run.On(t.Executed(nil))
	run.Began, run.Attempts, run.Until = t.Started, 1, t.Expires()
	if t.Queue != nil {
		run.Attempts = t.Queue.Attempts
	}
	if run.Attempts == 0 {
		run.Began = time.Time{}
	}
	run.Ends(out, t.Ended)
	return run
}

// Said is what the client says of a task that waits, in lists.
func (q *Queued) Said() (label string, metadata engine.Metadata) {
	var w struct {
		Source struct {
			Label    string          `json:"label"`
			Metadata engine.Metadata `json:"metadata"`
		} `json:"source"`
	}
	_ = json.Unmarshal(q.Task, &w) // it was checked when it came
	return w.Source.Label, engine.ShortMetadata(w.Source.Metadata)
}
