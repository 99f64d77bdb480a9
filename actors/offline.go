package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
)

// OfflineNode gives access to the data of a node that does not run. No node may
// run on the same store meanwhile.
type OfflineNode struct {
	records *records.Store
	node    string
}

// NewOfflineNode returns the offline form of the node that the configuration
// would start. It uses only Store, Files, Node and Log.
func NewOfflineNode(cfg Config) (*OfflineNode, error) {
	if cfg.Store == nil {
		return nil, errors.New("open what a node has left: no store was given")
	}
	r, err := records.Open(cfg.records())
	if err != nil {
		return nil, fmt.Errorf("open what a node has left: %w", err)
	}
	return &OfflineNode{records: r, node: cfg.Node}, nil
}

// ErrOffline refuses a verb that needs a running node.
var ErrOffline = errors.New("the service does not run")

// Do carries out a verb as far as that is possible without a running node: see
// [api.Ask]. It returns [ErrOffline] for the others.
func (d *OfflineNode) Do(ctx context.Context, m any) (any, error) {
	switch m := m.(type) {
	case *api.SurveyWorkers:
		return orError(d.survey(ctx))
	case *api.AddWorker:
		return changed(d.addWorker(ctx, m))
	case *api.RemoveWorker:
		return changed(d.removeWorker(ctx, m))
	case *api.RemoveAccount:
		return orError(d.removeAccount(ctx, m))
	default:
		return nil, ErrOffline
	}
}

func orError[R any](r *R, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

func changed(w api.WorkerInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return &api.WorkerChanged{Worker: w}, nil
}

// survey lists the workers that were added. The others come with the node.
func (d *OfflineNode) survey(ctx context.Context) (*api.Workers, error) {
	all, err := d.workers(ctx)
	if err != nil {
		return nil, err
	}
	w := &api.Workers{}
	for _, rec := range all {
		w.Workers = append(w.Workers, infoOf(rec))
	}
	return w, nil
}

func (d *OfflineNode) workers(ctx context.Context) ([]records.Worker, error) {
	return d.records.Workers(ctx, func(w records.Worker) bool { return w.Node == d.node })
}

// infoOf is a worker that was added, while no node runs.
func infoOf(w records.Worker) api.WorkerInfo {
	return api.WorkerInfo{ID: w.ID, Name: w.Name, State: api.Offline, Since: w.Added, Owner: w.Owner, Added: true}
}

// addWorker writes a worker down, which starts with the node.
func (d *OfflineNode) addWorker(ctx context.Context, m *api.AddWorker) (api.WorkerInfo, error) {
	if err := CheckWorkerName(m.Name); err != nil {
		return api.WorkerInfo{}, err
	}
	all, err := d.workers(ctx)
	switch {
	case err != nil:
		return api.WorkerInfo{}, err
	case named(all, m.Name) != nil:
		return api.WorkerInfo{}, errors.New(nameTaken(m.Name))
	case len(all) >= MaxWorkers:
		return api.WorkerInfo{}, errors.New(tooMany)
	}
	w := records.Worker{ID: newWorkerID(), Name: m.Name, Owner: m.Owner, Node: d.node, Added: time.Now().UTC()}
	return infoOf(w), d.records.PutWorker(ctx, w)
}

func named(all []records.Worker, name string) *records.Worker {
	i := slices.IndexFunc(all, func(w records.Worker) bool { return w.ID == name || w.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// removeWorker removes what is on disk of a worker that was added, and of its
// session.
func (d *OfflineNode) removeWorker(ctx context.Context, m *api.RemoveWorker) (api.WorkerInfo, error) {
	all, err := d.workers(ctx)
	if err != nil {
		return api.WorkerInfo{}, err
	}
	w := named(all, m.Worker)
	if w == nil {
		return api.WorkerInfo{}, errors.New(noWorker(m.Worker) + " among those that were added")
	}
	var sessions []records.Session
	err = records.EachJSON(ctx, d.records, records.SessionPrefix, func(s records.Session) {
		if s.Worker == w.ID {
			sessions = append(sessions, s)
		}
	})
	for _, s := range sessions {
		err = errors.Join(err, d.records.EraseSession(ctx, s))
	}
	if err == nil {
		err = d.records.EraseWorker(ctx, w.ID)
	}
	return infoOf(*w), err
}

// removeAccount erases what is on disk of an account.
func (d *OfflineNode) removeAccount(ctx context.Context, m *api.RemoveAccount) (*api.AccountRemoved, error) {
	if m.Account == "" {
		return nil, errNoAccount
	}
	r := &api.AccountRemoved{}
	err := errors.Join(
		records.EachJSON(ctx, d.records, records.SessionPrefix, func(s records.Session) {
			if s.Account == m.Account && time.Now().Before(s.Deadline) {
				r.Sessions++
			}
		}),
		records.EachJSON(ctx, d.records, records.WorkerPrefix, func(w records.Worker) {
			if w.Owner == m.Account {
				r.Workers++
			}
		}),
	)
	if err == nil {
		err = d.records.EraseAccount(ctx, m.Account)
	}
	if err != nil {
		return nil, fmt.Errorf("remove an account: %w", err)
	}
	return r, nil
}
