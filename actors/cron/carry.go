package cron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// passing are the refusals after which a run is tried again.
var passing = map[engine.Code]bool{
	engine.CodeDraining: true, engine.CodeNoQuorum: true, engine.CodeStorageFull: true, engine.CodeStorageUnwritable: true,
}

// refusedError is a refusal that another try does not change.
type refusedError struct{ no *api.Refusal }

func (e refusedError) Error() string { return "the run is refused: " + string(e.no.Code) }

func refusal(no *api.Refusal) error {
	switch {
	case no == nil:
		return nil
	case passing[no.Code]:
		return fmt.Errorf("begin a run: %w", no)
	}
	return refusedError{no}
}

// carry gives a claimed run to the queue. It may be repeated, by any process: the run and
// its task have the same names each time.
func (m *Schedules) carry(ctx context.Context, s *schedule, st records.ScheduleState, rev uint64) error {
	c, now := st.Claim, m.cfg.Clock.Now()
	def, err := m.disk.Get(ctx, st.Account, st.ID)
	if err != nil {
		return fmt.Errorf("read a schedule: %w", err)
	}
	of := *st.Ref(c.Planned)
	// It is there before anything of the run is, and its end is written into it before
	// what the queue knows of the run goes.
	fresh, err := m.disk.PutRun(ctx, st.RunsID(), api.ScheduleRun{Planned: c.Planned, Begun: now, Task: c.Task, Status: api.RunQueued, Times: c.Times, Manual: c.Manual})
	if err != nil {
		return err
	}
	ended := false
	if fresh {
		m.counts.begun.Add(1)
		m.counts.missed.Add(int64(max(c.Times-1, 0))) // times that this run makes up for
	} else {
		run, err := m.disk.Run(ctx, st.RunsID(), c.Planned)
		if err != nil {
			return err
		}
		ended = run != nil && !run.Ended.IsZero()
	}
	if !ended {
		account, err := m.account(ctx, def)
		if err == nil && def.Spec.Batch != nil {
			err = m.startBatch(ctx, account, def, of)
		} else if err == nil {
			err = m.startTask(ctx, account, def, of, c.Task, fresh)
		}
		var no refusedError
		if errors.As(err, &no) {
			m.cfg.Log.Warn().Str("schedule", st.ID).Str("code", string(no.no.Code)).Str("error", no.no.Text).Msg("a run of a schedule was refused")
			err = m.disk.EndRun(ctx, &of, now, api.RunFailed, no.no.Code)
		}
		if err != nil {
			return err
		}
	}
	st.Claim, st.Open = nil, c.Planned
	m.mu.Lock()
	s.check = time.Time{}
	m.mu.Unlock()
	return m.write(ctx, st, rev)
}

// account is the account of a schedule as it is now.
func (m *Schedules) account(ctx context.Context, def *records.Schedule) (api.Account, error) {
	if m.cfg.Account == nil {
		return api.Account{ID: def.Account, Plan: def.Plan}, nil
	}
	a, err := m.cfg.Account(ctx, def.Account)
	if errors.Is(err, persistence.ErrNotFound) {
		return a, refusedError{api.Refuse(engine.CodeUnauthorized, "its account is gone")}
	}
	return a, err
}

func (m *Schedules) startTask(ctx context.Context, account api.Account, def *records.Schedule, of api.ScheduleRef, task string, fresh bool) error {
	if !fresh { // the queue may have it
		has, _, _, _, err := m.disk.Has(ctx, account.ID, task)
		if err != nil || has {
			return err
		}
	}
	x, err := m.cfg.Queue.Add(ctx, &api.Execute{TaskID: task, Account: account, Task: def.Spec.Task, Asked: time.Now(), Schedule: &of})
	if err != nil {
		return fmt.Errorf("begin a run: %w", err)
	}
	return refusal(x.Refusal)
}

// startBatch makes the batch of a run. Its key leads to it when it is asked for again.
func (m *Schedules) startBatch(ctx context.Context, account api.Account, def *records.Schedule, of api.ScheduleRef) error {
	if m.cfg.Batches == nil {
		return refusedError{api.Refuse(engine.CodeQueueUnavailable, "there are no batches here")}
	}
	b, bytes := def.Spec.Batch, int64(0)
	for _, it := range b.Items {
		bytes += int64(len(it))
	}
	x, err := m.cfg.Batches.Create(ctx, &api.CreateBatch{Account: account, Name: b.Name, Key: records.ScheduleBatchKey(of), Task: def.Spec.Task, Notify: b.Notify, Schedule: &of})
	if err != nil || x.Refusal != nil {
		return errors.Join(err, refusalOf(x))
	}
	id := x.Batch.ID
	// Before it may begin, and so before its end is written there.
	if err := m.disk.ChangeRun(ctx, of, func(run *api.ScheduleRun) { run.Batch = id }); err != nil || x.Found {
		return err
	}
	x, err = m.cfg.Batches.Add(ctx, &api.AddBatchItems{Account: account, ID: id, Items: b.Items})
	if err == nil && x.Refusal == nil {
		x, err = m.cfg.Batches.Change(ctx, &api.ChangeBatch{Account: account, ID: id, Change: api.BatchReady, Items: len(b.Items), Bytes: bytes})
	}
	if err == nil && x.Refusal == nil {
		if x.Batch.ID != id { // whoever had the claim before was faster
			return m.disk.ChangeRun(ctx, of, func(run *api.ScheduleRun) { run.Batch = x.Batch.ID })
		}
		return nil
	}
	_, drop := m.cfg.Batches.Change(ctx, &api.ChangeBatch{Account: account, ID: id, Change: api.BatchDrop})
	if err == nil {
		err = refusal(x.Refusal)
	}
	return errors.Join(err, drop)
}

func refusalOf(x *api.Batched) error {
	if x == nil {
		return nil
	}
	return refusal(x.Refusal)
}

// goesOn reports whether the last run that began has not ended.
func (m *Schedules) goesOn(ctx context.Context, st records.ScheduleState) (bool, error) {
	if st.Open.IsZero() {
		return false, nil
	}
	run, err := m.disk.Run(ctx, st.RunsID(), st.Open)
	if err != nil || run == nil || !run.Ended.IsZero() {
		return false, err
	}
	if since := m.cfg.Clock.Now().Sub(run.Begun); since >= 0 && since < checkEvery { // what was written just now may not be readable everywhere
		return true, nil
	}
	of, now := st.Ref(st.Open), m.cfg.Clock.Now()
	if run.Batch != "" {
		ended, gone, err := m.disk.BatchEnded(ctx, st.Account, run.Batch)
		if err != nil || !ended && !gone {
			return err == nil, err
		}
		return false, m.disk.EndRun(ctx, of, now, api.RunFailed, engine.CodeInterrupted)
	}
	has, ended, status, code, err := m.disk.Has(ctx, st.Account, run.Task)
	switch {
	case err != nil:
		return false, err
	case !has: // its record could not be read at its end
		return false, m.disk.EndRun(ctx, of, now, api.RunFailed, engine.CodeInterrupted)
	case ended.IsZero():
		return true, nil
	}
	return false, m.disk.EndRun(ctx, of, ended, status, code)
}

// cancel cancels the run that goes on.
func (m *Schedules) cancel(ctx context.Context, st records.ScheduleState) error {
	run, err := m.disk.Run(ctx, st.RunsID(), st.Open)
	if err != nil || run == nil {
		return err
	}
	account := api.Account{ID: st.Account}
	if run.Batch != "" {
		_, err = m.cfg.Batches.Change(ctx, &api.ChangeBatch{Account: account, ID: run.Batch, Change: api.BatchCancel})
		return err
	}
	return m.cfg.Queue.Cancel(ctx, &api.Cancel{TaskID: run.Task, Account: account, Cause: api.CauseAsked})
}
