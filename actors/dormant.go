package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Dormant is a node that does not run: what is on disk of it can be looked at and
// changed all the same. No node may run on the same store.
type Dormant struct {
	records *records
	node    string
}

// NewDormant returns the node that the configuration would start. Of that only
// Store, Files, Node and Log matter.
func NewDormant(cfg Config) (*Dormant, error) {
	if cfg.Store == nil {
		return nil, errors.New("open what a node has left: no store was given")
	}
	r, err := newRecords(cfg)
	if err != nil {
		return nil, fmt.Errorf("open what a node has left: %w", err)
	}
	return &Dormant{records: r, node: cfg.Node}, nil
}

// ErrDormant: it takes a node that runs.
var ErrDormant = errors.New("the service does not run")

// Survey lists the workers that were added. The others come with the node.
func (d *Dormant) Survey(ctx context.Context, _ *SurveyWorkers) (*Workers, error) {
	all, err := d.workers(ctx)
	if err != nil {
		return nil, err
	}
	w := &Workers{}
	for _, rec := range all {
		w.Workers = append(w.Workers, rec.info())
	}
	return w, nil
}

func (d *Dormant) workers(ctx context.Context) ([]workerRecord, error) {
	return d.records.workers(ctx, func(w workerRecord) bool { return w.Node == d.node })
}

func (w *workerRecord) info() WorkerInfo {
	return WorkerInfo{ID: w.ID, Name: w.Name, State: Offline, Since: w.Added, Owner: w.Owner, Added: true}
}

// AddWorker writes a worker down, which starts with the node.
func (d *Dormant) AddWorker(ctx context.Context, m *AddWorker) (WorkerInfo, error) {
	if err := CheckWorkerName(m.Name); err != nil {
		return WorkerInfo{}, err
	}
	all, err := d.workers(ctx)
	switch {
	case err != nil:
		return WorkerInfo{}, err
	case named(all, m.Name) != nil:
		return WorkerInfo{}, errors.New(nameTaken(m.Name))
	case len(all) >= MaxWorkers:
		return WorkerInfo{}, errors.New(tooMany)
	}
	w := workerRecord{ID: newWorkerID(), Name: m.Name, Owner: m.Owner, Node: d.node, Added: time.Now().UTC()}
	return w.info(), d.records.keepWorker(ctx, w)
}

func named(all []workerRecord, who string) *workerRecord {
	i := slices.IndexFunc(all, func(w workerRecord) bool { return w.ID == who || w.Name == who })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// DrainWorker gives [ErrDormant]: a drain does not outlive the node.
func (d *Dormant) DrainWorker(context.Context, *DrainWorker) (WorkerInfo, error) {
	return WorkerInfo{}, ErrDormant
}

// ResumeWorker gives [ErrDormant].
func (d *Dormant) ResumeWorker(context.Context, *ResumeWorker) (WorkerInfo, error) {
	return WorkerInfo{}, ErrDormant
}

// RemoveWorker removes what is on disk of a worker that was added, and of its
// session.
func (d *Dormant) RemoveWorker(ctx context.Context, m *RemoveWorker) (WorkerInfo, error) {
	all, err := d.workers(ctx)
	if err != nil {
		return WorkerInfo{}, err
	}
	w := named(all, m.Worker)
	if w == nil {
		return WorkerInfo{}, errors.New(noWorker(m.Worker) + " among those that were added")
	}
	var sessions []sessionRecord
	err = eachJSON(ctx, d.records, sessionPrefix, func(s sessionRecord) {
		if s.Worker == w.ID {
			sessions = append(sessions, s)
		}
	})
	for _, s := range sessions {
		err = errors.Join(err, d.records.eraseSession(ctx, s))
	}
	if err == nil {
		err = d.records.forgetWorker(ctx, w.ID)
	}
	return w.info(), err
}

// RemoveAccount erases what is on disk of an account.
func (d *Dormant) RemoveAccount(ctx context.Context, m *RemoveAccount) (*AccountRemoved, error) {
	if m.Account == "" {
		return nil, errNoAccount
	}
	r := &AccountRemoved{}
	err := errors.Join(
		eachJSON(ctx, d.records, sessionPrefix, func(s sessionRecord) {
			if s.Account == m.Account && time.Now().Before(s.Deadline) {
				r.Sessions++
			}
		}),
		eachJSON(ctx, d.records, workerPrefix, func(w workerRecord) {
			if w.Owner == m.Account {
				r.Workers++
			}
		}),
	)
	if err == nil {
		err = d.records.eraseAccount(ctx, m.Account)
	}
	if err != nil {
		return nil, fmt.Errorf("remove an account: %w", err)
	}
	return r, nil
}
