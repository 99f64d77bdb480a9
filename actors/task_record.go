package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// keepTask is how long an asynchronous task is kept after its end.
const keepTask = time.Hour

// taskRecord is what is on disk of an asynchronous task. Its outcome has a
// record of its own: after a restart all of these are read.
type taskRecord struct {
	ID         string         `json:"id"`
	Account    string         `json:"account"`
	Node       string         `json:"node,omitempty"`
	Status     api.TaskStatus `json:"status"`
	WorkerID   string         `json:"workerId"`
	WorkerName string         `json:"workerName"`
	SessionID  string         `json:"sessionId,omitempty"`
	Timeout    time.Duration  `json:"timeout"`
	Started    time.Time      `json:"started"`
	Ended      time.Time      `json:"ended,omitzero"`
}

const (
	taskPrefix    = "task/"
	outcomePrefix = "outcome/"
)

// taskIDMost bounds what is looked for: an identifier that is longer is none of
// ours.
const taskIDMost = 64

func statusOf(end engine.End) api.TaskStatus {
	if end == engine.EndCompleted {
		return api.TaskComplete
	}
	return api.TaskFailed
}

func (t *taskRecord) executed(out *engine.Outcome) *api.Executed {
	return &api.Executed{
		TaskID: t.ID, WorkerID: t.WorkerID, WorkerName: t.WorkerName, SessionID: t.SessionID, Timeout: t.Timeout, Outcome: out,
	}
}

// expires says until when the record is kept. One of a task that has not ended
// stays: the next start of the service says what has become of it.
func (t *taskRecord) expires() time.Time {
	if t.Ended.IsZero() {
		return time.Time{}
	}
	return t.Ended.Add(keepTask)
}

// keepTask writes the record down, over the one of a revision if one is named,
// and returns the new one's.
func (r *records) keepTask(ctx context.Context, t taskRecord, over *uint64) (revision uint64, err error) {
	b, err := json.Marshal(t)
	if err == nil {
		revision, err = r.store.Put(ctx, persistence.Write{Key: taskPrefix + t.ID, Value: b, Expires: t.expires(), If: over, Durable: true})
	}
	if err != nil {
		return 0, fmt.Errorf("keep task %s: %w", t.ID, err)
	}
	return revision, nil
}

// endTask keeps how a task ended: the outcome first, so that a record that says
// "complete" always has one.
func (r *records) endTask(ctx context.Context, t taskRecord, over *uint64, out *engine.Outcome) error {
	if err := keepJSON(ctx, r.plain, outcomePrefix+t.ID, t.Account, t.expires(), out); err != nil {
		return err
	}
	_, err := r.keepTask(ctx, t, over)
	return err
}

// task reads a task of an account. Whether it belongs to somebody else or to
// nobody must look the same.
func (r *records) task(ctx context.Context, id, account string) (taskRecord, error) {
	var t taskRecord
	if len(id) > taskIDMost {
		return t, persistence.ErrNotFound
	}
	rec, err := r.store.Get(ctx, taskPrefix+id)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(rec.Value, &t); err != nil {
		return t, fmt.Errorf("read task %s: %w", id, err)
	}
	if t.Account != account || !t.Ended.IsZero() && !time.Now().Before(t.expires()) {
		return t, persistence.ErrNotFound
	}
	return t, nil
}

// poll reads what has become of a task that no actor knows of any more, and
// until when that stays so; zero: it is not sure. One that still runs by its
// record does not: its node has ended under it.
func (r *records) poll(ctx context.Context, id, account string) (p *api.Polled, until time.Time, err error) {
	t, err := r.task(ctx, id, account)
	if errors.Is(err, persistence.ErrNotFound) {
		return &api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(id))}, until, nil
	}
	if err != nil {
		return nil, until, err
	}
	if t.Node != r.node {
		return &api.Polled{Status: api.TaskPending, Node: t.Node, Executed: t.executed(nil)}, until, nil
	}
	if t.Status == api.TaskPending {
		return &api.Polled{Status: api.TaskFailed, Executed: t.executed(interrupted())}, until, nil
	}
	out := new(engine.Outcome)
	if err := readJSON(ctx, r.plain, outcomePrefix+id, out); err != nil {
		return nil, until, fmt.Errorf("read the outcome of %s: %w", id, err)
	}
	return &api.Polled{Status: t.Status, Executed: t.executed(out)}, t.expires(), nil
}

// interrupted is the outcome of a task whose node ended under it.
func interrupted() *engine.Outcome { return &engine.Outcome{End: engine.EndInterrupted} }

// together does the same for all, many at once: what is written at the same time
// is synced together.
func together[T any](all []T, f func(T) error) error {
	errs := make([]error, len(all))
	turns := make(chan struct{}, 64)
	var wg sync.WaitGroup
	for i, v := range all {
		turns <- struct{}{}
		wg.Go(func() {
			errs[i] = f(v)
			<-turns
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
