package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// maxGroups bounds the groups of one account that have waiting tasks: the next tasks
// of each are in memory.
const maxGroups = 1000

// enqueue asks for a task to be queued. Its identifier has its place. Reply:
// [api.Started], when it is on the disk.
type enqueue struct {
	Execute *api.Execute
	Files   uint64 // the number of its cleanup, see [callbacks]
}

// entryAdded tells whether a task is on the disk.
type entryAdded struct {
	add     *enqueue
	client  *actor.PID
	place   backlog.Place
	started *api.Started
	counted int64
	bytes   int64
	stays   bool // it is on the disk, whatever the client is told
	err     error
}

// withQueueID gives a task that is to be queued the identifier that leads to its
// place.
func (n *Node) withQueueID(m *api.Execute) *api.Execute {
	x, q, now := *m, m.Task.Queue, n.parts.cfg.Clock.Now()
	x.Asked = n.parts.cfg.Clock.At(cmp.Or(x.Asked, time.Now()))
	p := backlog.Place{Lane: backlog.LaneOf(x.Account.ID, x.Task), Order: n.parts.orders.Order(now, q.StartAfter.After(x.Asked))}
	x.TaskID = p.TaskID(x.TaskID)
	return &x
}

// mayQueue says why a task is not queued, or nil.
func (u *queue) mayQueue(x *api.Execute, p backlog.Place) *api.Refusal {
	limits, ok := (*u.node.limits.Load())[x.Account.Plan]
	_, lacking := limits.Admit(x.Task)
	tasks, bytes := u.book.Waiting(x.Account.ID)
	full := func(format string, a ...any) *api.Refusal {
		return api.Refuse(engine.CodeQueueFull, fmt.Sprintf(format, a...))
	}
	switch {
	case u.gone[x.Account.ID]:
		return cancelledFor(api.CauseRemoved)
	case u.nodes != nil && (u.over || !u.nodes.serves()):
		return api.NotOrderedHere()
	case u.over:
		return api.Refuse(engine.CodeDraining, "")
	case !ok:
		return api.Refuse(engine.CodePlanRequired, "there is no plan "+api.Quoted(string(x.Account.Plan)))
	case lacking != "":
		return api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no %s", x.Account.Plan, lacking))
	case limits.QueueTasks <= 0:
		return api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no queue", x.Account.Plan))
	case tasks >= limits.QueueTasks:
		return full("%d tasks wait, as many as plan %s allows", tasks, x.Account.Plan)
	case limits.QueueBytes > 0 && bytes+int64(len(x.Task.Source())) > limits.QueueBytes:
		return full("tasks of %d bytes wait; plan %s allows %d", bytes, x.Account.Plan, limits.QueueBytes)
	case p.Group != "" && u.book.Groups(p.Lane) > maxGroups:
		return full("tasks of %d groups wait", maxGroups)
	}
	return nil
}

func (u *queue) onEnqueue(ctx actor.Context, m *enqueue) {
	x, client := m.Execute, ctx.Sender()
	p, ok := backlog.PlaceOf(x.Account.ID, x.TaskID)
	no := u.mayQueue(x, p)
	if !ok {
		no = api.Refuse(engine.CodeInternal, "")
	}
	if has := x.OnDisk && (u.live[x.TaskID] != nil || u.ending[x.TaskID] || u.book.Has(p, x.TaskID)); has && (no == nil || no.Code == engine.CodeQueueFull) {
		u.send(client, &api.Started{TaskID: x.TaskID})
		return
	}
	if no != nil {
		u.send(client, &api.Started{TaskID: x.TaskID, Refusal: no})
		return
	}
	limits := (*u.node.limits.Load())[x.Account.Plan]
	timeout, _ := limits.Admit(x.Task)
	opts := x.Task.Queue
	keep := opts.Retention
	if keep == 0 {
		keep = records.TaskRetention
	}
	if limits.QueueRetention > 0 {
		keep = min(keep, limits.QueueRetention)
	}
	counted := int64(len(x.Task.Source()))
	q := records.Queued{
		ID: x.TaskID, Account: x.Account.ID, Plan: x.Account.Plan, Number: u.book.Adding(p, x.TaskID, counted),
		Asked: x.Asked, Trace: x.Trace, Expires: opts.ExpiresAfter.After(x.Asked), Keep: keep, Batch: x.Batch, Schedule: x.Schedule,
	}
	if x.By != (api.Sender{}) {
		q.By = &x.By
	}
	place, estimate := u.book.Position(p, q.Number, time.Now())
	added := &entryAdded{add: m, client: client, place: p, counted: counted,
		started: &api.Started{TaskID: x.TaskID, Timeout: timeout, Queued: &api.QueuePlace{Position: place, Estimate: estimate}}}
	u.adding[added] = true
	u.write(x.Account.ID, func(c context.Context) (err error) {
		added.bytes, added.stays, err = u.node.addQueued(c, x, q, p.Key(x.TaskID), added.started)
		return err
	}, func(err error) any {
		added.err = err
		return added
	})
}

// addQueued writes a task down that is to wait, after its files are where they can
// stay.
func (n *nodeParts) addQueued(ctx context.Context, x *api.Execute, q records.Queued, key string, started *api.Started) (bytes int64, stays bool, err error) {
	task := x.Task
	if len(task.Files) > 0 && n.sharesQueue() {
		if task, q.Blobs, err = n.shareFiles(ctx, task, x.Account.ID); err != nil {
			return 0, false, err
		}
	} else if len(task.Files) > 0 {
		if task, q.Uploads, err = n.keepUploads(task, x.Account.ID, x.TaskID); err != nil {
			return 0, false, err
		}
	}
	undo := func(err error) (int64, bool, error) { // it may have been written all the same: then it needs its files
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if left := n.records.Queue().Delete(bound, key, false); left != nil {
			if _, size, no := n.records.Queue().Lost(bound, x.Account.ID, x.TaskID, key); !errors.Is(no, persistence.ErrNotFound) {
				return size, true, errors.Join(err, left)
			}
			err = errors.Join(err, left)
		}
		n.unshareFiles(q.Blobs)
		if q.Uploads != "" {
			_ = os.RemoveAll(q.Uploads)
		}
		return 0, false, err
	}
	requestKey := x.Idempotency
	if requestKey.Key != "" {
		q.Key = &records.QueuedKey{Key: requestKey.Key, Record: records.Key{Digest: requestKey.Digest, TaskID: x.TaskID, Made: time.Now(), Started: started}}
	}
	if q.Task, err = json.Marshal(task); err != nil {
		return undo(fmt.Errorf("write the task %s of the queue: %w", x.TaskID, err))
	}
	b, bytes, err := n.records.Queue().Encode(q)
	if err != nil {
		return undo(err)
	}
	known := persistence.Absent
	if x.OnDisk || x.Batch != nil || x.Schedule != nil { // it may be added again
		known = persistence.Unknown
	}
	// Syncing the second record syncs the first as well.
	if err := n.records.Queue().Add(ctx, x.Account.ID, key, b, known, q.Key == nil); err != nil {
		return undo(err)
	}
	if q.Key != nil {
		switch err := n.records.BeginKey(ctx, x.Account.ID, q.Key.Key, q.Key.Record); {
		case errors.Is(err, persistence.ErrNoQuorum): // it may be written all the same: the turn of the task finds out
			return bytes, true, err
		case err != nil:
			return undo(err)
		}
	}
	return bytes, true, nil
}

// keepUploads moves the files of a task to where they stay until its end, and returns
// the task with their new places, and the folder.
func (n *nodeParts) keepUploads(t *engine.Task, account, id string) (*engine.Task, string, error) {
	if n.cfg.QueuedUploads == "" {
		return nil, "", errors.New("keep the files of a queued task: there is no folder for them")
	}
	folder := records.UploadsOf(n.cfg.QueuedUploads, account, id)
	moved := *t
	moved.Files = slices.Clone(t.Files)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, "", fmt.Errorf("keep the files of a queued task: %w", err)
	}
	for i := range moved.Files {
		to := filepath.Join(folder, filepath.Base(moved.Files[i].Path))
		if err := os.Rename(moved.Files[i].Path, to); err != nil {
			_ = os.RemoveAll(folder)
			return nil, "", fmt.Errorf("keep the files of a queued task: %w", err)
		}
		moved.Files[i].Path = to
	}
	return &moved, folder, syncFolder(folder)
}

// syncFolder makes the files of a folder survive a loss of power.
func syncFolder(folder string) error {
	all, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("keep the files of a queued task: %w", err)
	}
	for _, name := range append([]string{"."}, names(all)...) {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return fmt.Errorf("keep the files of a queued task: %w", err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("keep the files of a queued task: %w", err)
		}
	}
	return nil
}

func names(all []os.DirEntry) []string {
	list := make([]string, len(all))
	for i, e := range all {
		list[i] = e.Name()
	}
	return list
}

// onAdded tells the client that its task is on the disk.
func (u *queue) onAdded(m *entryAdded) {
	x := m.add.Execute
	delete(u.adding, m)
	u.written(x.Account.ID)
	if m.err == nil && u.nodes != nil && !u.nodes.serves() { // another node may order the queue, and not know of it
		m.err = persistence.ErrNoQuorum
	}
	if m.err != nil && m.stays {
		u.book.Added(m.place, x.TaskID, m.bytes, m.counted)
		if after := x.Task.Queue.StartAfter; after.At.IsZero() {
			u.begins(m.place, x.TaskID, x.Asked, after.In)
		}
	} else if m.err != nil {
		u.book.NotAdded(m.place, x.TaskID, m.counted)
	}
	if m.err != nil {
		u.node.log.Error().Err(m.err).Str("task", x.TaskID).Msg("task not queued: it could not be written down")
		u.send(m.client, &api.Started{TaskID: x.TaskID, Refusal: api.RefusalFor(m.err), KeyTaken: errors.Is(m.err, persistence.ErrConflict)})
		return
	}
	if u.nodes != nil { // they are where all nodes find them
		u.node.cleanUpFiles(m.add.Files)
	} else if m.add.Files != 0 {
		u.files[x.TaskID] = m.add.Files
	}
	u.book.Added(m.place, x.TaskID, m.bytes, m.counted)
	if after := x.Task.Queue.StartAfter; after.At.IsZero() {
		u.begins(m.place, x.TaskID, x.Asked, after.In)
	}
	u.send(m.client, m.started)
}

// cleanUp removes the files of a task that has ended.
func (u *queue) cleanUp(task string, q *records.Queued) {
	if n := u.files[task]; n != 0 {
		delete(u.files, task)
		u.node.cleanUpFiles(n)
	}
	if q != nil && q.Uploads != "" {
		folder := q.Uploads
		u.node.background.Go(func() { _ = os.RemoveAll(folder) })
	}
}
