package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Schedule is the record of a schedule: what it does when.
type Schedule struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Plan    engine.Plan      `json:"plan"`
	Spec    api.ScheduleSpec `json:"spec"`
	Created time.Time        `json:"created"`
	Changed time.Time        `json:"changed"`
}

// ScheduleState is how far a schedule is. Each change of it is one write over the
// revision that it was read with: of those that two processes try, the store takes one.
type ScheduleState struct {
	Account string         `json:"account"`
	ID      string         `json:"id"`
	Paused  bool           `json:"paused,omitempty"`
	Changed time.Time      `json:"changed"`        // of the record that Next comes from
	Next    time.Time      `json:"next,omitzero"`  // the first time that nobody has decided about
	Begin   time.Time      `json:"begin,omitzero"` // that, with jitter
	Claim   *ScheduleClaim `json:"claim,omitempty"`
	Waiting []ScheduleDue  `json:"waiting,omitempty"` // times whose runs wait for the one before
	Open    time.Time      `json:"open,omitzero"`     // the planned time of the run that may go on
	Every   time.Duration  `json:"every,omitempty"`   // between two times of an interval
	Anchor  time.Time      `json:"anchor,omitzero"`   // one of those times
	Runs    string         `json:"runs,omitempty"`    // under which its runs are kept, where its client has named it
}

// Ref names a run.
func (s *ScheduleState) Ref(planned time.Time) *api.ScheduleRef {
	return &api.ScheduleRef{Schedule: s.ID, Planned: planned, Runs: s.Runs}
}

// RunsID is under which its runs are kept: no other schedule has it, of whatever account.
func (s *ScheduleState) RunsID() string { return cmp.Or(s.Runs, s.ID) }

// ScheduleDue is a time that is to have a run.
type ScheduleDue struct {
	Planned time.Time `json:"planned"`
	Manual  bool      `json:"manual,omitempty"`
	Times   int       `json:"times,omitempty"` // that it stands for, if more than one
}

// ScheduleClaim is a run that is being given to the queue.
type ScheduleClaim struct {
	ScheduleDue
	At   time.Time `json:"at"`
	Boot string    `json:"boot"`           // of the process that does it
	Task string    `json:"task,omitempty"` // the identifier that it has there; a batch gets its own
}

// The keys of schedules, and of what belongs to each, begin so.
const (
	SchedulePrefix      = "schedule/"
	ScheduleStatePrefix = "scheduleat/"
	scheduleRunPrefix   = "schedulerun/"
)

var _ = sealed.Register(sealed.Kind{Prefix: SchedulePrefix, Holds: "schedules"})

var (
	_ = owned.Register(owned.Kind{Prefix: SchedulePrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: ScheduleStatePrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: scheduleRunPrefix, By: owned.Parent, Of: SchedulePrefix})
)

// ScheduleKey is where the record of a schedule is.
func ScheduleKey(account, id string) string { return SchedulePrefix + account + "/" + id }

// ScheduleStateKey is where the state of a schedule is.
func ScheduleStateKey(account, id string) string { return ScheduleStatePrefix + account + "/" + id }

// ScheduleRunKey is where it is written what became of a time.
func ScheduleRunKey(id string, planned time.Time) string {
	return fmt.Sprintf("%s%s/%016x", scheduleRunPrefix, id, planned.UnixMilli())
}

// Schedules are the schedules on the disk.
type Schedules struct{ r *Store }

// Schedules returns the schedules.
func (r *Store) Schedules() Schedules { return Schedules{r} }

// Put writes the record of a schedule.
func (u Schedules) Put(ctx context.Context, s Schedule) error {
	return putJSON(ctx, u.r.Sealed, ScheduleKey(s.Account, s.ID), s.Account, time.Time{}, s)
}

// Get reads the record of a schedule.
func (u Schedules) Get(ctx context.Context, account, id string) (*Schedule, error) {
	s := new(Schedule)
	if err := ReadJSON(ctx, u.r.Sealed, ScheduleKey(account, id), s); err != nil {
		return nil, err
	}
	return s, nil
}

// PutState writes a state over the one of a revision; zero: there is none.
func (u Schedules) PutState(ctx context.Context, s ScheduleState, over uint64) (revision uint64, err error) {
	b, err := json.Marshal(s)
	if err == nil {
		revision, err = persistence.PutOwn(ctx, u.r.Store, persistence.Write{Key: ScheduleStateKey(s.Account, s.ID), Value: b, If: &over, Durable: true})
	}
	if err != nil {
		return 0, fmt.Errorf("write how far a schedule is: %w", err)
	}
	return revision, nil
}

// State reads the state of a schedule, with its revision.
func (u Schedules) State(ctx context.Context, account, id string) (s ScheduleState, revision uint64, err error) {
	rec, err := u.r.Store.Get(ctx, ScheduleStateKey(account, id))
	if err == nil {
		err = json.Unmarshal(rec.Value, &s)
	}
	return s, rec.Revision, err
}

// States reads the states of all schedules, with their revisions.
func (u Schedules) States(ctx context.Context, f func(s ScheduleState, revision uint64)) error {
	list, err := u.r.Store.List(ctx, ScheduleStatePrefix)
	if err != nil {
		return fmt.Errorf("list the schedules: %w", err)
	}
	for _, rec := range list {
		var s ScheduleState
		if err := json.Unmarshal(rec.Value, &s); err != nil {
			u.r.log.Error().Err(err).Str("key", rec.Key).Msg("record not read")
			continue
		}
		f(s, rec.Revision)
	}
	return nil
}

// Watch tells changes of the states, and of what became of times: see [ParseScheduleEvent].
func (u Schedules) Watch(ctx context.Context) (<-chan persistence.Event, error) {
	both, cancel := context.WithCancel(ctx)
	states, err := u.r.Store.Watch(both, ScheduleStatePrefix)
	var runs <-chan persistence.Event
	if err == nil {
		runs, err = u.r.Store.Watch(both, scheduleRunPrefix)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	all := make(chan persistence.Event)
	go func() {
		defer close(all)
		defer cancel()
		for { // where changes of one are missing, everything is read again
			var e persistence.Event
			var open bool
			select {
			case e, open = <-states:
			case e, open = <-runs:
			}
			if !open {
				return
			}
			select {
			case all <- e:
			case <-both.Done():
				return
			}
		}
	}()
	return all, nil
}

// ParseScheduleEvent reads a change: the state of a schedule, or the end of a run.
func ParseScheduleEvent(e persistence.Event) (key string, state *ScheduleState, endedRun string) {
	switch {
	case strings.HasPrefix(e.Key, ScheduleStatePrefix) && e.Deleted:
		return e.Key, nil, ""
	case strings.HasPrefix(e.Key, ScheduleStatePrefix):
		s := new(ScheduleState)
		if json.Unmarshal(e.Value, s) != nil {
			return "", nil, ""
		}
		return e.Key, s, ""
	case strings.HasPrefix(e.Key, scheduleRunPrefix) && !e.Deleted:
		var run api.ScheduleRun
		id, _, _ := strings.Cut(strings.TrimPrefix(e.Key, scheduleRunPrefix), "/")
		if json.Unmarshal(e.Value, &run) == nil && !run.Ended.IsZero() {
			return "", nil, id
		}
	}
	return "", nil, ""
}

// Remove removes a schedule with everything that belongs to it. Its state goes first:
// then nothing begins a run any more.
func (u Schedules) Remove(ctx context.Context, account, id string) error {
	st, _, err := u.State(ctx, account, id)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		st.ID = id
	case err != nil:
		return fmt.Errorf("remove a schedule: %w", err)
	}
	if err := u.r.Store.Delete(ctx, ScheduleStateKey(account, id), nil, true); err != nil {
		return fmt.Errorf("remove a schedule: %w", err)
	}
	runs, err := u.r.Store.Keys(ctx, scheduleRunPrefix+st.RunsID()+"/", "", 2*keptRuns)
	if err == nil {
		err = InParallel(runs, func(k persistence.KeySize) error { return u.r.Store.Delete(ctx, k.Key, nil, false) })
	}
	if err == nil {
		err = u.r.Sealed.Delete(ctx, ScheduleKey(account, id), true)
	}
	if err != nil {
		return fmt.Errorf("remove a schedule: %w", err)
	}
	return nil
}

func (u Schedules) eraseAll(ctx context.Context, account string) error {
	for _, prefix := range []string{ScheduleStatePrefix, SchedulePrefix} {
		list, err := u.r.Store.List(ctx, prefix+account+"/")
		if err != nil {
			return fmt.Errorf("list the schedules: %w", err)
		}
		for _, rec := range list {
			if err := u.Remove(ctx, account, strings.TrimPrefix(rec.Key, prefix+account+"/")); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptRuns is how many times of a schedule are remembered.
const keptRuns = 100

// PutRun writes what became of a time, unless that is written. It reports whether it was.
func (u Schedules) PutRun(ctx context.Context, id string, run api.ScheduleRun) (bool, error) {
	b, err := json.Marshal(run)
	if err != nil {
		return false, fmt.Errorf("write a run: %w", err)
	}
	key := ScheduleRunKey(id, run.Planned)
	_, err = persistence.PutOwn(ctx, u.r.Store, persistence.Write{Key: key, Value: b, If: new(uint64), Durable: true})
	if errors.Is(err, persistence.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write a run: %w", err)
	}
	all, err := u.r.Store.Keys(ctx, scheduleRunPrefix+id+"/", "", 2*keptRuns)
	for err == nil && len(all) > keptRuns {
		old := all[0]
		if all = all[1:]; old.Key == key { // the clock was set back: the others are of the future
			old, all = all[len(all)-1], all[:len(all)-1]
		}
		err = u.r.Store.Delete(ctx, old.Key, nil, false)
	}
	return true, err
}

// ChangeRun changes what is written of a time. Where nothing is, it does nothing.
func (u Schedules) ChangeRun(ctx context.Context, of api.ScheduleRef, change func(*api.ScheduleRun)) error {
	for key := ScheduleRunKey(of.RunsID(), of.Planned); ; {
		rec, err := u.r.Store.Get(ctx, key)
		if errors.Is(err, persistence.ErrNotFound) {
			return nil
		}
		var run api.ScheduleRun
		if err == nil {
			err = json.Unmarshal(rec.Value, &run)
		}
		if err != nil {
			return fmt.Errorf("read a run: %w", err)
		}
		before := run
		if change(&run); run == before {
			return nil
		}
		b, err := json.Marshal(run)
		if err == nil {
			_, err = persistence.PutOwn(ctx, u.r.Store, persistence.Write{Key: key, Value: b, If: &rec.Revision})
		}
		if !errors.Is(err, persistence.ErrConflict) {
			return err
		}
	}
}

// EndRun writes how the task or the batch of a run has ended.
func (u Schedules) EndRun(ctx context.Context, of *api.ScheduleRef, ended time.Time, status api.RunStatus, code engine.Code) error {
	if of == nil {
		return nil
	}
	return u.ChangeRun(ctx, *of, func(run *api.ScheduleRun) {
		if run.Ended, run.Status, run.Code = ended, status, code; status == api.RunComplete {
			run.Code = ""
		}
	})
}

// Run reads what became of a time; nil: nothing is written.
func (u Schedules) Run(ctx context.Context, id string, planned time.Time) (*api.ScheduleRun, error) {
	rec, err := u.r.Store.Get(ctx, ScheduleRunKey(id, planned))
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, nil
	}
	run := new(api.ScheduleRun)
	if err == nil {
		err = json.Unmarshal(rec.Value, run)
	}
	return run, err
}

// Runs reads what became of the last times, the newest first.
func (u Schedules) Runs(ctx context.Context, id string, most int) ([]api.ScheduleRun, error) {
	list, err := u.r.Store.List(ctx, scheduleRunPrefix+id+"/")
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	all := make([]api.ScheduleRun, 0, min(most, len(list)))
	for i := len(list) - 1; i >= 0 && len(all) < most; i-- {
		var run api.ScheduleRun
		if err := json.Unmarshal(list[i].Value, &run); err != nil {
			u.r.log.Error().Err(err).Str("key", list[i].Key).Msg("record not read")
			continue
		}
		all = append(all, run)
	}
	return all, nil
}

// Has reports whether the queue has a task, or has had it lately, and how it has ended.
func (u Schedules) Has(ctx context.Context, account, task string) (has bool, ended time.Time, status api.RunStatus, code engine.Code, err error) {
	t, _, err := u.r.taskAt(ctx, task)
	if err == nil {
		if t.Queue != nil {
			code = t.Queue.Code
		}
		if status = runStatus(outcome.Counted(t.Status, code)); status == api.RunFailed && code == "" {
			code = engine.CodeInterrupted
		}
		return true, t.Ended, status, code, nil
	}
	if errors.Is(err, persistence.ErrNotFound) {
		_, _, err = u.r.Queue().Find(ctx, account, task)
	}
	if errors.Is(err, persistence.ErrNotFound) {
		return false, ended, "", "", nil
	}
	return err == nil, ended, "", "", err
}

// ScheduleBatchKey makes the batch of a run safe to ask for again.
func ScheduleBatchKey(of api.ScheduleRef) string {
	return "schedule/" + of.RunsID() + "/" + strconv.FormatInt(of.Planned.UnixMilli(), 10)
}

// BatchEnded finds out whether a batch of a run has ended; gone: it is not there.
func (u Schedules) BatchEnded(ctx context.Context, account, id string) (ended, gone bool, err error) {
	var b Batch
	switch err := ReadJSON(ctx, u.r.Sealed, BatchKey(account, id), &b); {
	case errors.Is(err, persistence.ErrNotFound):
		return false, true, nil
	case err != nil:
		return false, false, err
	}
	return !b.Ended.IsZero(), false, nil
}
