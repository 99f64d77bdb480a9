package records

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
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// TaskRetention is how long an asynchronous task is kept after its end.
const TaskRetention = time.Hour

// Task is the record of an asynchronous task. Its outcome has a record of its
// own, because a restart reads all tasks.
type Task struct {
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
	Lost       bool           `json:"lost,omitempty"` // another node has given it up: what its own has written as its end does not count
	// Queue is set where the task came from the queue.
	Queue *TaskQueue `json:"queue,omitempty"`
	// Notify are the receivers of its end, as [Store.SealNotify] writes them.
	Notify []byte `json:"notify,omitempty"`
	// Resealed is the revision that this one is the same as, sealed with another key: see
	// [persistence.ResealedFrom]. Whoever has written that one may go on.
	Resealed uint64 `json:"resealed,omitempty"`
}

// The keys of tasks, and of their outcomes, begin so.
const (
	TaskPrefix    = "task/"
	OutcomePrefix = "outcome/"
)

var _ = sealed.Register(sealed.Kind{Prefix: TaskPrefix, Form: sealed.Field, Field: "notify", Holds: "receivers of tasks"})

var (
	_ = owned.Register(owned.Kind{Prefix: TaskPrefix, By: owned.Value})
	_ = owned.Register(owned.Kind{Prefix: OutcomePrefix, By: owned.Parent, Of: TaskPrefix})
)

// maxTaskID bounds the identifiers that are looked up: no task has a longer one.
const maxTaskID = 64

// Executed is the answer to a poll about the task.
func (t *Task) Executed(out *engine.Outcome) *api.Executed {
	return &api.Executed{
		TaskID: t.ID, WorkerID: t.WorkerID, WorkerName: t.WorkerName, SessionID: t.SessionID, Timeout: t.Timeout, Outcome: out,
	}
}

// Expires is until when the record is kept. The record of a running task stays:
// the next start of the service records how the task ended.
func (t *Task) Expires() time.Time {
	if t.Ended.IsZero() {
		return time.Time{}
	}
	return t.Ended.Add(t.retention())
}

// keptForBatch is how long at least the end of a batch's task is kept where several nodes
// share the queue. The node that orders it writes down how the item has ended. Should all
// nodes stand still before, the item is not to look as if it had never begun.
const keptForBatch = 24 * time.Hour

// storedUntil is when the record goes.
func (t *Task) storedUntil() time.Time {
	until := t.Expires()
	if t.Queue != nil && t.Queue.Batch && !until.IsZero() {
		until = later(until, t.Ended.Add(keptForBatch))
	}
	return until
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (t *Task) retention() time.Duration {
	if t.Queue != nil && t.Queue.Keep > 0 {
		return t.Queue.Keep
	}
	return TaskRetention
}

// PutTask writes the record, over a certain revision if one is given.
func (r *Store) PutTask(ctx context.Context, t Task, over *uint64) (revision uint64, err error) {
	return r.putTask(ctx, t, over, true)
}

func (r *Store) putTask(ctx context.Context, t Task, over *uint64, durable bool) (revision uint64, err error) {
	revision, err = r.putTaskOver(ctx, t, over, durable)
	if errors.Is(err, persistence.ErrConflict) && over != nil && *over != 0 {
		if now, resealed, no := r.taskAt(ctx, t.ID); no == nil && now.Resealed == *over {
			if t.Notify != nil {
				t.Notify = now.Notify
			}
			revision, err = r.putTaskOver(ctx, t, &resealed, durable)
		}
	}
	return revision, err
}

func (r *Store) putTaskOver(ctx context.Context, t Task, over *uint64, durable bool) (revision uint64, err error) {
	t.Resealed = 0
	b, err := json.Marshal(t)
	w := persistence.Write{Key: TaskPrefix + t.ID, Value: b, Expires: t.storedUntil(), If: over, Durable: durable}
	if err == nil {
		revision, err = persistence.PutOwn(ctx, r.Store, w)
	}
	if err == nil && t.Queue != nil && !t.Ended.IsZero() { // it counts for its account until it expires
		err = r.Plain.Counted(t.Account, w).Done(ctx, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("keep task %s: %w", t.ID, err)
	}
	return revision, nil
}

// EndTask writes how a task ended: the outcome first, so that a record with the
// status "complete" always has one.
func (r *Store) EndTask(ctx context.Context, t Task, over *uint64, out *engine.Outcome, code engine.Code) error {
	return r.endTask(ctx, t, over, out, code, nil)
}

// endTask calls stored when the end is, but of several nodes its notices are not.
func (r *Store) endTask(ctx context.Context, t Task, over *uint64, out *engine.Outcome, code engine.Code, stored func()) error {
	r.keepRun(ctx, t, nil, out)
	if err := putJSON(ctx, r.Plain, OutcomePrefix+t.ID, t.Account, t.Expires(), out); err != nil {
		return err
	}
	if r.Node != "" { // another node may write another end
		if _, err := r.PutTask(ctx, t, over); err != nil {
			return err
		}
		if stored != nil {
			stored()
		}
		return r.tell(ctx, t, nil, out, code, false)
	}
	notices, err := r.announce(ctx, t, nil, out, code)
	if err != nil {
		return err
	}
	if _, err = r.PutTask(ctx, t, over); err == nil {
		r.Tell(notices)
	}
	return err
}

// task reads a task of an account. Whether it belongs to somebody else or to
// nobody must look the same.
func (r *Store) task(ctx context.Context, id, account string) (Task, error) {
	var t Task
	if len(id) > maxTaskID {
		return t, persistence.ErrNotFound
	}
	rec, err := r.Store.Get(ctx, TaskPrefix+id)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(rec.Value, &t); err != nil {
		return t, fmt.Errorf("read task %s: %w", id, err)
	}
	if t.Account != account || !t.Ended.IsZero() && !time.Now().Before(t.Expires()) {
		return t, persistence.ErrNotFound
	}
	return t, nil
}

// Poll reads the status of a task that has no actor any more, and until when it
// stays the same; zero: unknown. A task that is still running by its record has
// been interrupted by the end of its node.
func (r *Store) Poll(ctx context.Context, id, account string) (p *api.Polled, until time.Time, err error) {
	t, err := r.task(ctx, id, account)
	if errors.Is(err, persistence.ErrNotFound) {
		return &api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(id))}, until, nil
	}
	if err != nil {
		return nil, until, err
	}
	if t.Node != r.Node {
		return &api.Polled{Status: api.TaskPending, Node: t.Node, Executed: t.Executed(nil)}, until, nil
	}
	switch {
	case t.Status == api.TaskPending && t.Queue != nil && t.Queue.Waiting:
		return &api.Polled{Status: api.TaskPending, Executed: t.Executed(nil), Queued: &api.QueuePlace{}}, until, nil
	case t.Status == api.TaskPending && t.Queue != nil && r.Node != "": // the node that orders the queue decides
		return &api.Polled{Status: api.TaskPending, Executed: t.Executed(nil)}, until, nil
	case t.Status == api.TaskPending && r.Node == "":
		return &api.Polled{Status: api.TaskFailed, Executed: t.Executed(Interrupted())}, until, nil
	case t.Status == api.TaskPending: // others may give it up: one of the two is its end
		p, err = r.InterruptTask(ctx, id, account)
		return p, until, err
	}
	if p, err = r.ended(ctx, t); err != nil {
		return nil, until, err
	}
	return p, t.Expires(), nil
}

// Interrupted is the outcome of a task whose node ended under it.
func Interrupted() *engine.Outcome { return &engine.Outcome{End: engine.EndInterrupted} }

// InParallel calls f for all values, many at a time: writes at the same time are
// synced together.
func InParallel[T any](all []T, f func(T) error) error {
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
