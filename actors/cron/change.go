package cron

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/calendar"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// shownTimes is how many of the next times of a schedule are shown.
const shownTimes = 3

func refused(no *api.Refusal) *api.Scheduled { return &api.Scheduled{Refusal: no} }

func notFound(id string) *api.Refusal {
	return &api.Refusal{Code: engine.CodeNotFound, Text: "There is no schedule " + api.Quoted(id)}
}

func invalid(format string, a ...any) *api.Refusal {
	return &api.Refusal{Code: engine.CodeInvalidRequest, Text: fmt.Sprintf(format, a...)}
}

// Put makes a schedule, or changes one.
func (m *Schedules) Put(ctx context.Context, r *api.PutSchedule) (*api.Scheduled, error) {
	limits, ok := m.cfg.Limits()[r.Account.Plan]
	_, lacking := limits.Admit(r.Spec.Task)
	switch {
	case !ok:
		return refused(api.Refuse(engine.CodePlanRequired, "there is no plan "+api.Quoted(string(r.Account.Plan)))), nil
	case lacking != "":
		return refused(api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no %s", r.Account.Plan, lacking))), nil
	case limits.QueueTasks <= 0 || limits.Schedules <= 0:
		return refused(api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no schedules", r.Account.Plan))), nil
	case r.Spec.Batch != nil && m.cfg.Batches == nil:
		return refused(&api.Refusal{Code: engine.CodeQueueUnavailable, Text: "There are no batches here: give the schedule a task"}), nil
	}
	now := m.cfg.Clock.Now().UTC()
	def := records.Schedule{ID: r.ID, Account: r.Account.ID, Plan: r.Account.Plan, Spec: r.Spec, Created: now, Changed: now}
	rule, err := ruleOf(&def, &records.ScheduleState{})
	if err != nil {
		return refused(invalid("%s", err)), nil
	}
	if d := rule.Shortest(now); d > 0 && d < limits.ScheduleEvery {
		return refused(invalid("The schedule would run every %s: plan %s allows every %s", d, r.Account.Plan, limits.ScheduleEvery)), nil
	}
	if r.ID != "" && !r.Fresh {
		x, err := m.replace(ctx, r.Account, def)
		if err != nil || !r.Make || x.Refusal == nil || x.Refusal.Code != engine.CodeNotFound {
			return x, err
		}
	}
	var x *api.Scheduled
	err = persistence.InTurn(ctx, m.cfg.Records.Store, "schedules/"+r.Account.ID, func(ctx context.Context) (err error) {
		x, err = m.create(ctx, r, def, rule, limits)
		return err
	})
	return x, err
}

// create makes a schedule, unless the account has as many as it may. Nothing else makes
// one for the account meanwhile.
func (m *Schedules) create(ctx context.Context, r *api.PutSchedule, def records.Schedule, rule calendar.Rule, limits engine.Limits) (*api.Scheduled, error) {
	st := records.ScheduleState{Account: def.Account, Paused: r.Paused}
	switch key := r.Idempotency; {
	case r.ID != "":
		st.Runs = m.cfg.NewID() // another account may have one of this name
		if _, _, err := m.disk.State(ctx, def.Account, def.ID); r.Fresh && err == nil {
			return m.taken(ctx, r, def)
		}
	case key != nil:
		made, err := m.disk.Made(ctx, def.Account, key.Key)
		if err != nil {
			return nil, err
		}
		switch def.ID = records.KeyedScheduleID(key.Key, key.Digest); {
		case made == def.ID: // the schedule, as it is now
			return m.made(ctx, def)
		case made != "":
			return refused(api.Refuse(engine.CodeIdempotencyMismatch, "")), nil
		}
	default:
		def.ID = m.cfg.NewID()
	}
	st.ID = def.ID
	count, err := m.disk.Count(ctx, def.Account, limits.Schedules)
	switch {
	case err != nil:
		return nil, err
	case m.isGone(def.Account):
		return refused(api.Refuse(engine.CodeUnauthorized, "")), nil
	case count >= limits.Schedules:
		return refused(&api.Refusal{Code: engine.CodeScheduleLimit, Text: fmt.Sprintf("The account has %d schedules; plan %s allows %d", count, r.Account.Plan, limits.Schedules)}), nil
	}
	plan(&st, &def, rule, def.Created)
	if err := m.disk.Put(ctx, def); err != nil {
		return nil, fmt.Errorf("make a schedule: %w", err)
	}
	switch err := m.write(ctx, st, 0); { // of two that make the same, the store takes one
	case errors.Is(err, persistence.ErrConflict) && r.Fresh:
		return m.taken(ctx, r, def)
	case errors.Is(err, persistence.ErrConflict) && r.ID != "":
		return m.replace(ctx, r.Account, def)
	case err != nil:
		return nil, fmt.Errorf("make a schedule: %w", err)
	}
	return m.made(ctx, def)
}

// made answers with a schedule that a request has made.
func (m *Schedules) made(ctx context.Context, def records.Schedule) (*api.Scheduled, error) {
	x, err := m.get(ctx, def.Account, def.ID, 0, true)
	if err == nil && x.Refusal == nil {
		x.Made = true
	}
	return x, err
}

// taken answers a request for a new schedule with an identifier that one has. With a key
// it may be the repeat of the request that made it.
func (m *Schedules) taken(ctx context.Context, r *api.PutSchedule, def records.Schedule) (*api.Scheduled, error) {
	if r.Idempotency == nil {
		return refused(invalid("There is a schedule %s already: PUT changes it", api.Quoted(def.ID))), nil
	}
	is, err := m.disk.Get(ctx, def.Account, def.ID)
	if err != nil {
		return nil, fmt.Errorf("compare schedules: %w", err)
	}
	before, err := json.Marshal(is.Spec)
	if err != nil {
		return nil, fmt.Errorf("compare schedules: %w", err)
	}
	if now, err := json.Marshal(def.Spec); err != nil || !bytes.Equal(before, now) {
		return refused(api.Refuse(engine.CodeIdempotencyMismatch, "")), nil
	}
	return m.made(ctx, def)
}

func (m *Schedules) isGone(account string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gone[account]
}

// replace changes what a schedule does when. Its history and what waits stay.
func (m *Schedules) replace(ctx context.Context, account api.Account, def records.Schedule) (*api.Scheduled, error) {
	before, err := m.disk.Show(ctx, account.ID, def.ID, false)
	if errors.Is(err, persistence.ErrNotFound) {
		return refused(notFound(def.ID)), nil
	}
	if err == nil {
		def.Created = before.Created
		err = m.disk.Put(ctx, def)
	}
	if err != nil {
		return nil, fmt.Errorf("change a schedule: %w", err)
	}
	same := before.Spec.Cron == def.Spec.Cron && before.Spec.Zone == def.Spec.Zone && before.Spec.Every == def.Spec.Every
	x, err := m.change(ctx, account.ID, def.ID, func(st *records.ScheduleState) *api.Refusal {
		if same && before.Spec.Every > 0 && st.Anchor.IsZero() { // an earlier version has written it
			st.Every, st.Anchor = before.Spec.Every, anchor(&before.Schedule, st)
		}
		if same && !st.Next.IsZero() { // whoever sends the same again and again does not stop it
			begin := st.Begin
			if setNext(st, &def, st.Next); before.Spec.Jitter == def.Spec.Jitter {
				st.Begin = begin
			}
			return nil
		}
		rule, err := ruleOf(&def, st)
		if err != nil {
			return invalid("%s", err)
		}
		plan(st, &def, rule, m.cfg.Clock.Now())
		return nil
	})
	if err != nil || x.Refusal != nil {
		return x, err
	}
	return m.get(ctx, account.ID, def.ID, 0, true)
}

// change changes the state of a schedule, and answers with the schedule as a list has it.
func (m *Schedules) change(ctx context.Context, account, id string, f func(*records.ScheduleState) *api.Refusal) (*api.Scheduled, error) {
	for {
		st, rev, err := m.disk.State(ctx, account, id)
		if errors.Is(err, persistence.ErrNotFound) {
			return refused(notFound(id)), nil
		}
		if err != nil {
			return nil, fmt.Errorf("change a schedule: %w", err)
		}
		if no := f(&st); no != nil {
			return refused(no), nil
		}
		switch err := m.write(ctx, st, rev); {
		case errors.Is(err, persistence.ErrConflict):
			continue
		case err != nil:
			return nil, fmt.Errorf("change a schedule: %w", err)
		}
		return m.get(ctx, account, id, 0, false)
	}
}

// Change pauses a schedule, lets it go on, and so forth.
func (m *Schedules) Change(ctx context.Context, r *api.ChangeSchedule) (*api.Scheduled, error) {
	account := r.Account.ID
	shown, err := m.disk.Show(ctx, account, r.ID, false)
	if errors.Is(err, persistence.ErrNotFound) {
		return refused(notFound(r.ID)), nil
	}
	if err != nil && !(r.Change == api.ScheduleRemove && errors.Is(err, persistence.ErrSealed)) {
		return nil, fmt.Errorf("read a schedule: %w", err)
	}
	var def *records.Schedule
	if shown != nil {
		def = &shown.Schedule
	}
	switch r.Change {
	case api.ScheduleRemove:
		if err := m.disk.Remove(ctx, account, r.ID); err != nil {
			return nil, err
		}
		m.mu.Lock()
		delete(m.all, records.ScheduleStateKey(account, r.ID))
		m.mu.Unlock()
		return &api.Scheduled{}, nil
	case api.ScheduleRunNow:
		return m.runNow(ctx, def)
	case api.SchedulePause:
		var dropped []records.ScheduleDue
		runs := ""
		x, err := m.change(ctx, account, r.ID, func(st *records.ScheduleState) *api.Refusal {
			runs = st.RunsID()
			dropped, st.Paused, st.Waiting = st.Waiting, true, nil
			return nil
		})
		for _, d := range dropped {
			_, no := m.disk.PutRun(ctx, runs, api.ScheduleRun{Planned: d.Planned, Status: api.RunSkipped, Times: d.Times, Manual: d.Manual})
			err = errors.Join(err, no)
		}
		return x, err
	}
	return m.change(ctx, account, r.ID, func(st *records.ScheduleState) *api.Refusal {
		if st.Paused { // the times of the pause are not missed
			rule, err := ruleOf(def, st)
			if err != nil {
				return invalid("%s", err)
			}
			st.Paused = false
			plan(st, def, rule, m.cfg.Clock.Now())
		}
		return nil
	})
}

// runNow begins a run at once, as if its time had come.
func (m *Schedules) runNow(ctx context.Context, def *records.Schedule) (*api.Scheduled, error) {
	due := records.ScheduleDue{Planned: m.cfg.Clock.Now().UTC().Truncate(time.Millisecond), Manual: true}
	if due.Planned.Truncate(time.Second).Equal(due.Planned) { // a cron line may have a time there
		due.Planned = due.Planned.Add(time.Millisecond)
	}
	x, err := m.change(ctx, def.Account, def.ID, func(st *records.ScheduleState) *api.Refusal {
		goesOn, err := m.goesOn(ctx, *st)
		busy := err != nil || goesOn || st.Claim != nil || len(st.Waiting) > 0
		switch {
		case busy && def.Spec.Overlap == api.OverlapSkip:
			return invalid("The last run still goes on, and overlap is %q: wait for its end, or cancel it", api.OverlapSkip)
		case len(st.Waiting) >= maxWaiting:
			return api.Refuse(engine.CodeQueueFull, fmt.Sprintf("%d runs of the schedule wait", len(st.Waiting)))
		case def.Spec.Overlap == api.OverlapReplace:
			st.Waiting = nil
		}
		st.Waiting = append(st.Waiting, due)
		return nil
	})
	if err != nil || x.Refusal != nil {
		return x, err
	}
	m.mu.Lock()
	s := m.all[records.ScheduleStateKey(def.Account, def.ID)]
	if s != nil {
		s.check = time.Time{}
	}
	m.mu.Unlock()
	if s != nil {
		m.turn(ctx, s)
	}
	return m.get(ctx, def.Account, def.ID, 1, false)
}

// Get answers with one schedule and its last runs.
func (m *Schedules) Get(ctx context.Context, r *api.GetSchedule) (*api.Scheduled, error) {
	return m.get(ctx, r.Account.ID, r.ID, r.Runs, !r.Bare)
}

func (m *Schedules) get(ctx context.Context, account, id string, runs int, whole bool) (*api.Scheduled, error) {
	def, err := m.disk.Show(ctx, account, id, whole)
	var st records.ScheduleState
	if err == nil {
		st, _, err = m.disk.State(ctx, account, id)
	}
	if errors.Is(err, persistence.ErrNotFound) {
		return refused(notFound(id)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a schedule: %w", err)
	}
	s, err := m.show(ctx, def, st, runs)
	return &api.Scheduled{Schedule: s}, err
}

func (m *Schedules) show(ctx context.Context, def *records.ScheduleShown, st records.ScheduleState, runs int) (*api.Schedule, error) {
	s := &api.Schedule{ID: def.ID, Spec: def.Spec, Paused: st.Paused, Created: def.Created, Changed: def.Changed, Waiting: len(st.Waiting),
		Source: def.Source, Items: def.Items, Sites: def.Sites}
	rule, err := ruleOf(&def.Schedule, &st)
	if err != nil {
		return nil, err
	}
	if !st.Paused {
		for at := st.Next; !at.IsZero() && len(s.Next) < shownTimes; at = rule.Next(at) {
			s.Next = append(s.Next, at)
		}
	}
	if runs > 0 {
		s.Runs, err = m.disk.Runs(ctx, st.RunsID(), runs)
		s.Runs = withClaim(s.Runs, st.Claim, runs)
	}
	return s, err
}

// withClaim adds the run that is being given to the queue, unless it is written already.
// Otherwise its time would be missing between others while a lost node has it.
func withClaim(newest []api.ScheduleRun, c *records.ScheduleClaim, most int) []api.ScheduleRun {
	if c == nil {
		return newest
	}
	i, found := slices.BinarySearchFunc(newest, c.Planned, func(run api.ScheduleRun, at time.Time) int { return at.Compare(run.Planned) })
	if !found {
		newest = slices.Insert(newest, i, api.ScheduleRun{Planned: c.Planned, Begun: c.At, Task: c.Task, Status: api.RunQueued, Times: c.Times, Manual: c.Manual})
	}
	return newest[:min(most, len(newest))]
}

// List answers with the schedules of an account, each with its last run.
func (m *Schedules) List(ctx context.Context, r *api.ListSchedules) (*api.SchedulesListed, error) {
	m.mu.Lock()
	var ids []string
	for _, s := range m.all {
		if s.st.Account == r.Account.ID {
			ids = append(ids, s.st.ID)
		}
	}
	m.mu.Unlock()
	x := &api.SchedulesListed{}
	for _, id := range ids {
		one, err := m.get(ctx, r.Account.ID, id, 1, false)
		if errors.Is(err, persistence.ErrSealed) { // the others are no worse for it
			x.Unreadable = append(x.Unreadable, id)
			continue
		}
		if err != nil {
			return nil, err
		}
		if one.Schedule != nil {
			x.Schedules = append(x.Schedules, *one.Schedule)
		}
	}
	slices.Sort(x.Unreadable)
	slices.SortFunc(x.Schedules, func(a, b api.Schedule) int {
		if c := strings.Compare(a.Spec.Name, b.Spec.Name); c != 0 {
			return c
		}
		return a.Created.Compare(b.Created)
	})
	return x, nil
}
