package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// Worker is a worker as the operator sees it.
type Worker struct {
	Name     string    `json:"name"`
	ID       string    `json:"id"`
	State    api.State `json:"state"`
	Draining bool      `json:"draining"`
	Since    time.Time `json:"since"`
	Account  string    `json:"account,omitempty"` // whose it is; empty: shared
	Added    bool      `json:"added"`             // it can be removed
	For      string    `json:"for,omitempty"`     // the account whose task or session it has
	Task     string    `json:"taskId,omitempty"`
	Node     string    `json:"node,omitempty"` // where it is, of several
}

func workerOf(w api.WorkerInfo) Worker {
	return Worker{
		Name: w.Name, ID: w.ID, State: w.State, Draining: w.Draining, Since: w.Since.UTC(),
		Account: persistence.AccountName(w.Owner), Added: w.Added, For: persistence.AccountName(w.Account), Task: w.TaskID, Node: w.Node,
	}
}

// changed is the answer to a command about one worker.
func changed(w *api.WorkerChanged, err error) (Worker, error) {
	if errors.Is(err, actors.ErrOffline) {
		err = errors.New("no service runs here: a drain lasts until the service ends, and workers start without one")
	}
	if err != nil {
		return Worker{}, err
	}
	return workerOf(w.Worker), nil
}

// ListWorkers lists all workers. While no service runs these are the ones that
// were added.
type ListWorkers struct{}

func (ListWorkers) path() string { return "/worker/list" }

// Do is part of [Command].
func (ListWorkers) Do(ctx context.Context, o *Admin) ([]Worker, error) {
	found, err := api.Ask(ctx, o.Actors, &api.SurveyWorkers{})
	if err != nil {
		return nil, err
	}
	all := make([]Worker, len(found.Workers))
	for i, w := range found.Workers {
		all[i] = workerOf(w)
	}
	return all, nil
}

// AddWorker adds a worker, which starts now and with each later start.
type AddWorker struct {
	Name    string `json:"name"`
	Account string `json:"account,omitempty"` // empty: shared
	Node    string `json:"node,omitempty"`    // that gets it; empty: the one that is asked
}

func (AddWorker) path() string    { return "/worker/add" }
func (a AddWorker) about() string { return a.Name }

// Do is part of [Command].
func (a AddWorker) Do(ctx context.Context, o *Admin) (Worker, error) {
	m := &api.AddWorker{Name: a.Name, Node: a.Node}
	if a.Node != "" && (o.Service == nil || !o.Service.Clustered()) {
		return Worker{}, errors.New("the service is not a node of a cluster: name no node")
	}
	if a.Account != "" {
		owner, err := o.account(ctx, a.Account)
		if err != nil {
			return Worker{}, err
		}
		m.Owner = owner.ID
	}
	return changed(api.Ask(ctx, o.Actors, m))
}

func (AddWorker) gone(ctx context.Context, o *Admin, result json.RawMessage) (string, error) {
	var w Worker
	if err := json.Unmarshal(result, &w); err != nil {
		return "", err
	}
	all, err := ListWorkers{}.Do(ctx, o)
	if err != nil || slices.ContainsFunc(all, func(o Worker) bool { return o.ID == w.ID }) {
		return "", err
	}
	return "worker", nil
}

// DrainWorker tells a worker to take no more tasks.
type DrainWorker struct {
	Worker string `json:"worker"` // name or identifier
}

func (DrainWorker) path() string    { return "/worker/drain" }
func (d DrainWorker) about() string { return d.Worker }

// Do is part of [Command].
func (d DrainWorker) Do(ctx context.Context, o *Admin) (Worker, error) {
	return changed(api.Ask(ctx, o.Actors, &api.DrainWorker{Worker: d.Worker}))
}

// ResumeWorker lets a drained worker take tasks again.
type ResumeWorker struct {
	Worker string `json:"worker"`
}

func (ResumeWorker) path() string    { return "/worker/resume" }
func (r ResumeWorker) about() string { return r.Worker }

// Do is part of [Command].
func (r ResumeWorker) Do(ctx context.Context, o *Admin) (Worker, error) {
	return changed(api.Ask(ctx, o.Actors, &api.ResumeWorker{Worker: r.Worker}))
}

// RemoveWorker ends a worker that was added, after its task or when the grace is
// over.
type RemoveWorker struct {
	Worker string `json:"worker"`
	Grace  int64  `json:"graceMs"`
}

// maxGrace is longer than any task.
const maxGrace = 24 * time.Hour

func (RemoveWorker) path() string    { return "/worker/remove" }
func (r RemoveWorker) about() string { return r.Worker }

// An interrupted task that does not heed it has some seconds more.
func (r RemoveWorker) takes() time.Duration {
	return time.Duration(min(max(r.Grace, 0), engine.Millis(maxGrace)))*time.Millisecond + 30*time.Second
}

// Do is part of [Command].
func (r RemoveWorker) Do(ctx context.Context, o *Admin) (Worker, error) {
	grace := time.Duration(r.Grace) * time.Millisecond
	if r.Grace < 0 || r.Grace > engine.Millis(maxGrace) {
		return Worker{}, fmt.Errorf("the grace is %d ms: want 0 to %v", r.Grace, maxGrace)
	}
	return changed(api.Ask(ctx, o.Actors, &api.RemoveWorker{Worker: r.Worker, Grace: grace}))
}
