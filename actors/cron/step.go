package cron

import (
	"context"
	"fmt"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/calendar"
	"troupe/actors/records"
)

// definition is what a schedule does when, as it is written now, without its task and the
// items of its batch: they are read for each run, so that no schedule keeps them in memory.
func (m *Schedules) definition(ctx context.Context, s *schedule, st records.ScheduleState) (*records.Schedule, calendar.Rule, error) {
	m.mu.Lock()
	def := s.def
	m.mu.Unlock()
	if def == nil || !def.Changed.Equal(st.Changed) {
		shown, err := m.disk.Show(ctx, st.Account, st.ID, false)
		if err != nil {
			return nil, calendar.Rule{}, fmt.Errorf("read a schedule: %w", err)
		}
		def = &shown.Schedule
		m.mu.Lock()
		s.def = def
		m.mu.Unlock()
	}
	rule, err := ruleOf(def, &st)
	return def, rule, err
}

// ruleOf says when a schedule is due. The times of an interval stay where they are when the
// rest of the schedule changes.
func ruleOf(def *records.Schedule, st *records.ScheduleState) (calendar.Rule, error) {
	if def.Spec.Every > 0 {
		return calendar.Every(def.Spec.Every, anchor(def, st)), nil
	}
	zone, err := calendar.Zone(def.Spec.Zone)
	if err != nil {
		return calendar.Rule{}, err
	}
	return calendar.Cron(def.Spec.Cron, zone)
}

// anchor is one of the times of an interval.
func anchor(def *records.Schedule, st *records.ScheduleState) time.Time {
	if st.Every == def.Spec.Every && !st.Anchor.IsZero() {
		return st.Anchor
	}
	return def.Changed.Truncate(time.Second).Add(def.Spec.Every)
}

// plan sets the first time behind another one.
func plan(st *records.ScheduleState, def *records.Schedule, rule calendar.Rule, after time.Time) {
	setNext(st, def, rule.Next(after))
}

// setNext sets the next time.
func setNext(st *records.ScheduleState, def *records.Schedule, next time.Time) {
	if def.Spec.Every > 0 {
		st.Anchor = anchor(def, st)
	} else {
		st.Anchor = time.Time{}
	}
	st.Changed, st.Every, st.Next, st.Begin = def.Changed, def.Spec.Every, next, time.Time{}
	if !st.Next.IsZero() {
		st.Begin = st.Next.Add(calendar.Jitter(def.ID, st.Next, def.Spec.Jitter))
	}
}

// write writes the next state of a schedule over the one that it was made from.
func (m *Schedules) write(ctx context.Context, st records.ScheduleState, over uint64) error {
	rev, err := m.disk.PutState(ctx, st, over)
	if err == nil {
		m.apply(st, rev)
	}
	return err
}

// step does one thing, or nothing.
func (m *Schedules) step(ctx context.Context, s *schedule) (did bool, err error) {
	m.mu.Lock()
	st, rev, seen, check, ends, look, at := s.st, s.rev, s.seen, s.check, s.ends, s.look, s.due
	st.Waiting = slices.Clone(st.Waiting)
	gone := m.gone[st.Account]
	m.mu.Unlock()
	now := time.Now()
	if gone {
		return false, nil
	}
	if st.Claim != nil {
		if st.Claim.Boot != m.cfg.Boot && now.Before(seen.Add(m.takeOver())) {
			return false, nil
		}
		if st.Claim.Boot != m.cfg.Boot { // one of several takes it over
			taken := *st.Claim
			taken.Boot = m.cfg.Boot
			st.Claim = &taken
			return true, m.write(ctx, st, rev)
		}
		return true, m.carry(ctx, s, st, rev)
	}
	if look && !st.Paused && !st.Next.IsZero() {
		if did, err := m.lookAt(ctx, s, st, rev); did || err != nil {
			return did, err
		}
	}
	due := !st.Paused && !st.Next.IsZero() && m.cfg.Clock.Came(at, now)
	if !due && (len(st.Waiting) == 0 || now.Before(check)) {
		return false, nil
	}
	def, rule, err := m.definition(ctx, s, st)
	if err != nil {
		return false, err
	}
	if !def.Changed.Equal(st.Changed) { // a change of which the second write is missing
		after := st.Next.Add(-time.Nanosecond) // no time is lost between the two
		if wall := m.cfg.Clock.At(now); wall.Before(after) {
			after = wall
		}
		plan(&st, def, rule, after)
		return true, m.write(ctx, st, rev)
	}
	goesOn, err := m.goesOn(ctx, st)
	if err != nil {
		return false, err
	}
	var dropped []api.ScheduleRun
	if due {
		wall := m.cfg.Clock.At(now)
		if wall.Before(st.Begin) { // it was set back
			if wall, err = m.afterSetBack(ctx, &st, def, wall); err != nil {
				return false, err
			}
			if rule, err = ruleOf(def, &st); err != nil {
				return false, err
			}
		}
		dropped = decide(&st, def, rule, wall, goesOn)
	}
	if goesOn && len(st.Waiting) > 0 {
		if def.Spec.Overlap == api.OverlapReplace {
			if err := m.cancel(ctx, st); err != nil {
				return false, err
			}
		}
		m.mu.Lock()
		if s.ends == ends { // else its run may have ended since it was looked up
			s.check = now.Add(checkEvery)
		}
		m.mu.Unlock()
		if !due {
			return false, nil
		}
	}
	if !goesOn && len(st.Waiting) > 0 {
		if err := m.claim(ctx, &st, def, m.cfg.Clock.At(now)); err != nil {
			return false, err
		}
	}
	if err := m.write(ctx, st, rev); err != nil {
		return false, err
	}
	for _, run := range dropped {
		fresh, err := m.disk.PutRun(ctx, st.RunsID(), run)
		if err != nil {
			return false, err
		}
		if fresh {
			m.counts.dropped(run)
		}
	}
	return true, nil
}

// claim takes the first of the times that wait.
func (m *Schedules) claim(ctx context.Context, st *records.ScheduleState, def *records.Schedule, now time.Time) error {
	st.Claim = &records.ScheduleClaim{ScheduleDue: st.Waiting[0], At: now, Boot: m.cfg.Boot}
	st.Waiting = st.Waiting[1:]
	if def.Spec.Batch == nil { // its place in the queue is in its name
		def, err := m.disk.Get(ctx, st.Account, st.ID)
		if err != nil {
			return fmt.Errorf("read a schedule: %w", err)
		}
		st.Claim.Task = m.cfg.Queue.Name(&api.Execute{Account: api.Account{ID: def.Account, Plan: def.Plan}, Task: def.Spec.Task}).TaskID
	}
	return nil
}

// decide decides about the times that have come: they wait for their runs, or have none.
// It returns those that have none.
func decide(st *records.ScheduleState, def *records.Schedule, rule calendar.Rule, now time.Time, goesOn bool) (dropped []api.ScheduleRun) {
	var missed, current []time.Time
	lost := 0 // missed times that are not remembered one by one
	for !st.Next.IsZero() && !now.Before(st.Begin) {
		if now.Sub(st.Begin) < missedAfter {
			current = append(current, st.Next)
		} else if missed = append(missed, st.Next); len(missed) > maxWaiting {
			missed, lost = missed[1:], lost+1
		}
		plan(st, def, rule, st.Next)
	}
	drop := func(at time.Time, status api.RunStatus, times int) {
		if times == 1 {
			times = 0
		}
		dropped = append(dropped, api.ScheduleRun{Planned: at, Status: status, Times: times})
	}
	if n := len(missed); n > 0 {
		newest := missed[n-1]
		switch {
		case def.Spec.Missed == api.MissedAll:
			if lost > 0 {
				drop(missed[0].Add(-time.Millisecond), api.RunMissed, lost)
			}
			for _, at := range missed {
				st.Waiting = append(st.Waiting, records.ScheduleDue{Planned: at})
			}
		case def.Spec.Missed == api.MissedOnce && len(current) == 0:
			due := records.ScheduleDue{Planned: newest}
			if n+lost > 1 {
				due.Times = n + lost
			}
			if goesOn && def.Spec.Overlap == api.OverlapSkip {
				drop(newest, api.RunSkipped, n+lost)
			} else {
				st.Waiting = append(st.Waiting, due)
			}
		default:
			drop(newest, api.RunMissed, n+lost)
		}
	}
	for _, at := range current {
		if def.Spec.Overlap == api.OverlapSkip && (goesOn || len(st.Waiting) > 0) {
			drop(at, api.RunSkipped, 1)
			continue
		}
		st.Waiting = append(st.Waiting, records.ScheduleDue{Planned: at})
	}
	most := maxWaiting
	if def.Spec.Overlap == api.OverlapReplace {
		most = 1
	}
	for len(st.Waiting) > most {
		drop(st.Waiting[0].Planned, api.RunSkipped, 1)
		st.Waiting = st.Waiting[1:]
	}
	return dropped
}
