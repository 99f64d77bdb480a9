package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Queued is the record of a task in the queue. It is there until the task has ended,
// under the key of its [backlog.Place].
type Queued struct {
	ID       string          `json:"id"`
	Account  string          `json:"account"`
	Plan     engine.Plan     `json:"plan"`
	Task     json.RawMessage `json:"task"` // as [engine.Task] is encoded
	Number   uint64          `json:"number"`
	Asked    time.Time       `json:"asked"`
	Trace    string          `json:"trace,omitempty"`
	Expires  time.Time       `json:"expires,omitzero"` // it does not begin later
	Keep     time.Duration   `json:"keep"`             // how long its result is kept
	Attempts int             `json:"attempts,omitempty"`
	Uploads  string          `json:"uploads,omitempty"` // the folder of its files
	Key      *QueuedKey      `json:"key,omitempty"`     // of the request that queued it
	Blobs    []string        `json:"blobs,omitempty"`   // its files, where several nodes keep them
	Batch    *api.BatchRef   `json:"batch,omitempty"`   // that it is the task of; nil: none

	Schedule *api.ScheduleRef `json:"schedule,omitempty"` // that it is a run of; nil: none
	Pause    *QueuedPause     `json:"pause,omitempty"`    // before its next attempt; nil: there was none
	By       *api.Sender      `json:"by,omitempty"`       // that has sent it; nil: unknown

	small bool // it was read, and its record has all of it: see [persistence.ValueStore.GetSmall]
}

// QueuedPause is how long a task waits for its next attempt.
type QueuedPause struct {
	Since time.Time     `json:"since"`
	For   time.Duration `json:"for"`
}

// Wait is how long a task waits from when on, where its place says no more than that. False:
// its place alone says when it may begin.
func (q *Queued) Wait() (since time.Time, d time.Duration, ok bool) {
	switch {
	case q.Pause != nil:
		return q.Pause.Since, q.Pause.For, true
	case q.Attempts > 0: // an earlier version has written it
		return since, 0, false
	}
	t, err := q.Parse()
	if err != nil || !t.Queue.StartAfter.At.IsZero() {
		return since, 0, false
	}
	return q.Asked, t.Queue.StartAfter.In, true
}

// QueuedKey is the idempotency key of a queued task, with the record that is written
// for it after that of the task.
type QueuedKey struct {
	Key    string `json:"key"`
	Record Key    `json:"record"`
}

// Parse reads the task.
func (q *Queued) Parse() (*engine.Task, error) {
	t := new(engine.Task)
	if err := t.UnmarshalJSON(q.Task); err != nil {
		return nil, fmt.Errorf("read the task %s of the queue: %w", q.ID, err)
	}
	if q.Uploads != "" {
		for i := range t.Files {
			t.Files[i].Path = filepath.Join(q.Uploads, filepath.Base(t.Files[i].Path))
		}
	}
	return t, nil
}

// TaskQueue is in the record of a task that came from the queue.
type TaskQueue struct {
	Key      string        `json:"key"` // of its record in the queue
	Attempts int           `json:"attempts"`
	Waiting  bool          `json:"waiting,omitempty"` // for another attempt
	Keep     time.Duration `json:"keep"`
	Listed   string        `json:"listed,omitempty"` // where it is in the list of ended tasks
	Boot     string        `json:"boot,omitempty"`   // of several nodes: the process that has it
	Turn     uint64        `json:"turn,omitempty"`   // of several nodes: in which it began
	Code     engine.Code   `json:"code,omitempty"`   // of several nodes: how it has ended, as in the list
	Batch    bool          `json:"batch,omitempty"`  // of several nodes: a batch is to hear of its end
	Cancel   api.Cause     `json:"cancel,omitempty"` // of one that runs: why it is to end, see [Queue.Cancel]
}

// The lists of ended tasks begin so: of all, and of those that have not completed and
// begin no more, with what is needed to send them again.
const (
	EndedPrefix = "ended/"
	DeadPrefix  = "dead/"
)

var (
	_ = sealed.Register(sealed.Kind{Prefix: backlog.Prefix, Holds: "queued tasks"})
	_ = sealed.Register(sealed.Kind{Prefix: DeadPrefix, Holds: "failed tasks of the queue"})
	_ = owned.Register(owned.Kind{Prefix: backlog.Prefix, By: owned.Key, Apart: "the plan's queueTasks and queueBytes"})
	_ = owned.Register(owned.Kind{Prefix: EndedPrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: DeadPrefix, By: owned.Key})
)

// Ended is an entry of the list of ended tasks.
type Ended struct {
	ID       string         `json:"id"`
	Status   api.TaskStatus `json:"status"`
	Code     engine.Code    `json:"code,omitempty"`
	Ended    time.Time      `json:"ended"`
	Attempts int            `json:"attempts"`
}

// Dead is an entry of the list of tasks that can be sent again.
type Dead struct {
	Ended  Ended  `json:"ended"`
	Queued Queued `json:"queued"`
}

// Queue is the queue on the disk, of whichever store. Each method is a few single
// writes in an order in which the end of the process between two of them does no harm:
// see docs/decisions/0022-a-queue-of-records.md.
type Queue struct{ r *Store }

// Queue returns the queue.
func (r *Store) Queue() Queue { return Queue{r} }

// sealedBytes is what sealing adds to a value, recordBytes what the record does.
const (
	sealedBytes = 28
	recordBytes = 1
)

// Encode writes a record, and says how many bytes it takes.
func (Queue) Encode(q Queued) (b []byte, size int64, err error) {
	if b, err = json.Marshal(q); err != nil {
		return nil, 0, fmt.Errorf("write the task %s of the queue: %w", q.ID, err)
	}
	return b, int64(len(b) + sealedBytes + recordBytes), nil
}

// Add writes an encoded record. Known is what is known of its key.
func (u Queue) Add(ctx context.Context, account, key string, b []byte, known persistence.Known, durable bool) error {
	return u.r.Sealed.Put(ctx, persistence.Item{Key: key, Account: account, Value: b, Known: known, Durable: durable})
}

// Delete removes a record.
func (u Queue) Delete(ctx context.Context, key string, durable bool) error {
	return u.r.Sealed.Delete(ctx, key, durable)
}

// Read reads a record.
func (u Queue) Read(ctx context.Context, key string) (*Queued, error) {
	b, small, err := u.r.Sealed.GetSmall(ctx, key)
	if err != nil {
		return nil, err
	}
	q := &Queued{small: small}
	if err := json.Unmarshal(b, q); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	q.follow(u.r.uploads)
	return q, nil
}

// UploadsOf is where the files of a waiting task are, below the folder for all of them.
func UploadsOf(root, account, id string) string { return filepath.Join(root, account, id) }

// follow finds the files of the task where the data folder was moved, or restored
// elsewhere: they went with it.
func (q *Queued) follow(root string) {
	if root != "" && q.Uploads != "" && q.Uploads == UploadsOf(filepath.Dir(filepath.Dir(q.Uploads)), q.Account, q.ID) {
		q.Uploads = UploadsOf(root, q.Account, q.ID)
	}
}

// Next reads the next keys of a lane.
func (u Queue) Next(ctx context.Context, m backlog.Load) ([]backlog.Found, error) {
	list, err := u.r.Store.Keys(ctx, m.Lane.Prefix(), m.After, m.Most)
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	found := make([]backlog.Found, len(list))
	for i, k := range list {
		found[i] = backlog.Found{Key: k.Key, Size: int64(k.Size)}
	}
	return found, nil
}

// surveyed is how many keys a survey reads at once.
const surveyed = 8192

// Survey goes through the keys of all waiting tasks, with the number of the first of
// each lane.
func (u Queue) Survey(ctx context.Context, f func(p backlog.Place, task string, size int64, number uint64)) error {
	var lane backlog.Lane
	for after, first := "", true; ; {
		list, err := u.r.Store.Keys(ctx, backlog.Prefix, after, surveyed)
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		for _, k := range list {
			after = k.Key
			p, task, ok := backlog.ParseKey(k.Key)
			if !ok {
				u.r.log.Error().Str("key", k.Key).Msg("record not read")
				continue
			}
			var number uint64
			if first || p.Lane != lane {
				lane, first = p.Lane, false
				if q, err := u.Read(ctx, k.Key); err != nil {
					u.r.log.Error().Err(err).Str("key", k.Key).Msg("record not read")
				} else {
					number = q.Number
				}
			}
			f(p, task, int64(k.Size), number)
		}
		if len(list) < surveyed {
			return nil
		}
	}
}

// Claim is what the record of a task says about a record of the queue.
type Claim struct {
	Queued *Queued
	Task   *Task // nil: it has not begun
	// Stale tells that the record is a remainder: the task has ended, waits at another
	// place, or was queued by a request that was repeated before its key was written.
	Stale    bool
	Revision uint64 // of the record of the task; zero: there is none
}

// Runs reports whether a node has the task, by its record.
func (c *Claim) Runs() bool {
	return c.Task != nil && c.Task.Status == api.TaskPending && c.Task.Queue != nil && !c.Task.Queue.Waiting
}

// Known is what is known of the record of the task.
func (c *Claim) Known() persistence.Known {
	if c.Task == nil {
		return persistence.Absent
	}
	return persistence.Present // it waits, and so does not expire
}

// Turn reads a record whose turn it is, and whether the task may begin.
func (u Queue) Turn(ctx context.Context, key, id string) (*Claim, error) {
	t, revision, err := u.r.taskAt(ctx, id)
	if err != nil && !errors.Is(err, persistence.ErrNotFound) {
		return nil, err
	}
	c := &Claim{}
	if err == nil {
		c.Task, c.Revision = &t, revision
		c.Stale = t.Queue == nil || t.Queue.Key != key || !t.Queue.Waiting
	}
	if c.Queued, err = u.Read(ctx, key); err != nil {
		return nil, err
	}
	if c.Task == nil && c.Queued.Key != nil {
		if c.Stale, err = u.lostKey(ctx, c.Queued); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// lostKey reports whether the key of a task leads to another one. The process may have
// ended before the key's record was written: then it is written now, so that a later
// repetition of the request finds this task.
func (u Queue) lostKey(ctx context.Context, q *Queued) (bool, error) {
	k := q.Key.Record
	for time.Since(k.Made) <= KeyRetention { // later, its record may be gone because of its age
		found, err := u.r.Key(ctx, q.Account, q.Key.Key)
		switch {
		case err == nil:
			return found.TaskID != q.ID, nil
		case !errors.Is(err, persistence.ErrNotFound):
			return false, err
		}
		if err = u.r.BeginKey(ctx, q.Account, q.Key.Key, k); !errors.Is(err, persistence.ErrConflict) {
			return false, err
		}
	}
	return false, nil
}

// Find reads a task that waits, by its identifier, and where it does.
func (u Queue) Find(ctx context.Context, account, id string) (key string, q *Queued, err error) {
	p, ok := backlog.PlaceOf(account, id)
	if !ok || len(id) > maxTaskID {
		return "", nil, persistence.ErrNotFound
	}
	key = p.Key(id)
	t, _, err := u.r.taskAt(ctx, id)
	switch {
	case err == nil && (t.Account != account || t.Queue == nil || !t.Queue.Waiting):
		return "", nil, persistence.ErrNotFound
	case err == nil:
		key = t.Queue.Key
	case !errors.Is(err, persistence.ErrNotFound):
		return "", nil, err
	}
	q, err = u.Read(ctx, key)
	return key, q, err
}

// Lost is what is known of a task whose record cannot be opened: whose it is and where it
// waits. Its files are found where a single node keeps them.
func (u Queue) Lost(ctx context.Context, account, id, key string) (q *Queued, size int64, err error) {
	list, err := u.r.Store.Keys(ctx, key, "", 1)
	if err != nil {
		return nil, 0, fmt.Errorf("look for a task of the queue: %w", err)
	}
	if len(list) == 0 || list[0].Key != key {
		return nil, 0, persistence.ErrNotFound
	}
	p, _, _ := backlog.ParseKey(key)
	q = &Queued{ID: id, Account: account, Asked: p.At()}
	if u.r.uploads != "" {
		q.Uploads = UploadsOf(u.r.uploads, account, id)
	}
	return q, int64(list[0].Size), nil
}

// Unfinished reads what is left of a task that ran when its process ended: its record
// in the queue, and its outcome if that was written already. Either may be nil.
func (u Queue) Unfinished(ctx context.Context, t Task) (q *Queued, out *engine.Outcome, err error) {
	out = new(engine.Outcome)
	if err = ReadJSON(ctx, u.r.Plain, OutcomePrefix+t.ID, out); err != nil {
		if out = nil; !errors.Is(err, persistence.ErrNotFound) {
			return nil, nil, err
		}
	}
	q, err = u.Read(ctx, t.Queue.Key)
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrSealed) {
		err = nil
	}
	return q, out, err
}
