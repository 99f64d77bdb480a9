package cron

import (
	"context"
	"time"

	"troupe/actors/records"
	"troupe/persistence/clock"
)

// forgetAfter is by how much the clock was ahead where the times of cron lines are made anew.
// Below that, what ran while it was ahead is not to run again so soon.
const forgetAfter = 24 * time.Hour

// lookAt looks at the times of a schedule that may have been made with another clock.
func (m *Schedules) lookAt(ctx context.Context, s *schedule, st records.ScheduleState, rev uint64) (did bool, err error) {
	m.mu.Lock()
	s.look = false // a schedule that cannot be read says so when it is due
	m.mu.Unlock()
	def, rule, err := m.definition(ctx, s, st)
	if err != nil || !def.Changed.Equal(st.Changed) {
		return false, nil
	}
	now := m.cfg.Clock.Now()
	switch {
	case def.Spec.Every > 0 && st.Every == 0: // an earlier version has written it
		setNext(&st, def, st.Next)
	case def.Spec.Every == 0 && m.cfg.Alone && st.Next.Sub(rule.Next(now)) > forgetAfter:
		m.cfg.Log.Warn().Str("schedule", st.ID).Time("next", st.Next).Msg("the clock was set back: the next time of a schedule is found anew")
		plan(&st, def, rule, now)
	default:
		return false, nil
	}
	return true, m.write(ctx, st, rev)
}

// afterSetBack is what the wall clock is to show where the time of an interval has come and
// the clock was set back. Where no other process has a clock, the times move with it.
func (m *Schedules) afterSetBack(ctx context.Context, st *records.ScheduleState, def *records.Schedule, wall time.Time) (time.Time, error) {
	if !m.cfg.Alone {
		return st.Begin, nil
	}
	late := st.Begin.Sub(st.Next)
	next := wall.Add(-late).Truncate(time.Millisecond)
	for ; ; next = next.Add(-time.Millisecond) { // each time has one run
		run, err := m.disk.Run(ctx, st.RunsID(), next)
		if err != nil {
			return wall, err
		}
		if run == nil {
			break
		}
	}
	setNext(st, def, next)
	st.Begin, st.Anchor = next.Add(late), next
	return wall, nil
}

// dueAt is when the next time of a schedule is. That of an interval is at most an interval
// away, whatever the wall clock shows.
func (m *Schedules) dueAt(st records.ScheduleState) clock.Due {
	if st.Every == 0 {
		return m.cfg.Clock.Stored(st.Begin)
	}
	now := time.Now()
	left := min(m.cfg.Clock.Left(m.cfg.Clock.Stored(st.Begin), now), st.Every+st.Begin.Sub(st.Next))
	return m.cfg.Clock.Within(st.Begin, now, max(left, 0)+m.grace())
}

// grace is how much longer than an interval a schedule waits where the wall clock does not
// show its time: of several processes, another one may have a clock that does.
func (m *Schedules) grace() time.Duration {
	if m.cfg.Alone {
		return time.Second
	}
	return takeOver / 3
}

// isSetBack reports whether the wall clock was set back since the last round.
func (m *Schedules) isSetBack(now time.Time) bool {
	wall := m.cfg.Clock.At(now)
	back := !m.looked.IsZero() && wall.Sub(m.showed) < now.Sub(m.looked)-setBack
	m.looked, m.showed = now, wall
	return back
}
