package cron

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/clock"
)

const (
	// takeOver is how long a claim of another node may take before this one takes it
	// over. Should that go on after all, both name the same task.
	takeOver = 15 * time.Second
	// again is how long after a failure something is tried again.
	again = time.Second
	// checkEvery is how often it is looked up whether a run still goes on that others
	// wait for, should its end not have been heard of.
	checkEvery = 10 * time.Second
	// missedAfter is how late a run may begin. A later time was missed.
	missedAfter = time.Minute
	// maxWaiting is how many runs of a schedule wait for the one before.
	maxWaiting = 100
	// turnsAtOnce is how many schedules are looked after at once.
	turnsAtOnce = 16
	// setBack is by how much the wall clock was set back where that is looked into.
	setBack = time.Minute
)

// Queue is what schedules give their tasks to.
type Queue interface {
	// Name gives a task the identifier under which [Queue.Add] queues it.
	Name(x *api.Execute) *api.Execute
	// Add queues a task that has its identifier. Adding it again while it is there
	// changes nothing.
	Add(ctx context.Context, x *api.Execute) (*api.Started, error)
	// Cancel ends a task wherever it is.
	Cancel(ctx context.Context, m *api.Cancel) error
}

// Batches are what schedules give their batches to.
type Batches interface {
	Create(ctx context.Context, m *api.CreateBatch) (*api.Batched, error)
	Add(ctx context.Context, m *api.AddBatchItems) (*api.Batched, error)
	Change(ctx context.Context, m *api.ChangeBatch) (*api.Batched, error)
}

// Config is what schedules need.
type Config struct {
	Records *records.Store
	Queue   Queue
	Batches Batches // nil: there are none
	Limits  func() map[engine.Plan]engine.Limits
	// Account finds an account as it is now; [persistence.ErrNotFound]: it is gone.
	Account func(ctx context.Context, id string) (api.Account, error)
	Clock   *clock.Clock // nil: the machine's
	Boot    string       // of this process
	Alone   bool         // no other process begins runs: what an earlier one has claimed is taken over at once
	NewID   func() string
	Log     zerolog.Logger
}

// Schedules are the schedules of all accounts. Each node of several has them all, and
// each may claim a time: the first one does. Its methods may be called from any goroutine.
type Schedules struct {
	cfg    Config
	disk   records.Schedules
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	wake   chan struct{}
	counts counts

	looked, showed time.Time // when the loop was in its last round, and what the wall clock showed

	mu   sync.Mutex
	all  map[string]*schedule // by the key of its state
	gone map[string]bool      // accounts that were removed
}

// schedule is one in memory. The mutex of [Schedules] guards it.
type schedule struct {
	st    records.ScheduleState
	rev   uint64
	due   clock.Due // when its next time is, with jitter
	look  bool      // its times are to be looked at: the clock may not be the one that they were made with
	seen  time.Time // when its claim was first seen
	check time.Time // when it is looked up again whether its run goes on
	ends  int       // of its runs that were heard of
	later time.Time // it is left alone until then, after a failure
	busy  bool
	turns sync.Mutex // one turn at a time
	def   *records.Schedule
}

// Open reads the schedules. They go on when Start is called.
func Open(ctx context.Context, cfg Config) (*Schedules, error) {
	m := &Schedules{cfg: cfg, disk: cfg.Records.Schedules(), wake: make(chan struct{}, 1), all: map[string]*schedule{}, gone: map[string]bool{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m, m.load(ctx)
}

// load reads the states of all schedules.
func (m *Schedules) load(ctx context.Context) error {
	there := map[string]bool{}
	err := m.disk.States(ctx, func(s records.ScheduleState, rev uint64) {
		there[records.ScheduleStateKey(s.Account, s.ID)] = true
		m.apply(s, rev)
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.all {
		if !there[key] {
			delete(m.all, key)
		}
	}
	return nil
}

// apply takes a state that was read or written.
func (m *Schedules) apply(st records.ScheduleState, rev uint64) *schedule {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := records.ScheduleStateKey(st.Account, st.ID)
	s := m.all[key]
	if s == nil {
		s = &schedule{look: true}
		m.all[key] = s
	}
	if rev > s.rev {
		if was := s.st.Claim; st.Claim != nil && (was == nil || !was.Planned.Equal(st.Claim.Planned) || was.Boot != st.Claim.Boot) {
			s.seen = time.Now()
		}
		if fresh := s.rev == 0; fresh || !s.st.Begin.Equal(st.Begin) || s.st.Every != st.Every || s.st.Paused {
			s.due = m.dueAt(st)
		}
		s.st, s.rev = st, rev
		m.signal()
	}
	return s
}

func (m *Schedules) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Start lets schedules begin runs.
func (m *Schedules) Start() {
	if m != nil {
		m.work.Go(m.follow)
		m.work.Go(m.loop)
	}
}

// Stop ends what schedules do.
func (m *Schedules) Stop() {
	if m != nil {
		m.stop()
		m.work.Wait()
	}
}

// Forget drops the schedules of an account that is removed. When it returns they begin
// nothing more.
func (m *Schedules) Forget(account string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.gone[account] = true
	var dropped []*schedule
	for key, s := range m.all {
		if s.st.Account == account {
			dropped = append(dropped, s)
			delete(m.all, key)
		}
	}
	m.mu.Unlock()
	for _, s := range dropped {
		s.rest()
	}
}

// rest waits for the end of the turn that a schedule may have.
func (s *schedule) rest() {
	s.turns.Lock()
	defer s.turns.Unlock()
}

// follow takes what other processes write, and the ends of runs.
func (m *Schedules) follow() {
	for m.ctx.Err() == nil {
		events, err := m.disk.Watch(m.ctx)
		if err == nil {
			err = m.load(m.ctx)
		}
		if err != nil {
			if m.ctx.Err() == nil {
				m.cfg.Log.Error().Err(err).Msg("schedules not followed")
				m.pause(again)
			}
			continue
		}
		for e := range events {
			m.event(e)
		}
	}
}

func (m *Schedules) event(e persistence.Event) {
	key, st, ended := records.ParseScheduleEvent(e)
	switch {
	case st != nil:
		m.apply(*st, e.Revision)
	case key != "":
		m.mu.Lock()
		if s := m.all[key]; s != nil && e.Revision >= s.rev {
			delete(m.all, key)
		}
		m.mu.Unlock()
	case ended != "":
		m.mu.Lock()
		for _, s := range m.all {
			if s.st.RunsID() == ended {
				s.check = time.Time{}
				s.ends++
				m.signal()
			}
		}
		m.mu.Unlock()
	}
}

func (m *Schedules) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-m.ctx.Done():
	}
}

// loop gives turns to schedules that have something to do.
func (m *Schedules) loop() {
	slots := make(chan struct{}, turnsAtOnce)
	for {
		next := clock.Look
		var due []*schedule
		m.mu.Lock()
		now := time.Now()
		back := m.isSetBack(now)
		for _, s := range m.all {
			s.look = s.look || back
			left, ok := m.next(s, now)
			if !ok || s.busy {
				continue
			}
			if left > 0 {
				next = min(next, left)
				continue
			}
			s.busy = true
			due = append(due, s)
		}
		m.mu.Unlock()
		for _, s := range due {
			select {
			case slots <- struct{}{}:
			case <-m.ctx.Done():
				return
			}
			m.work.Go(func() {
				defer func() { <-slots }()
				m.turn(m.ctx, s)
				m.mu.Lock()
				s.busy = false
				m.mu.Unlock()
				m.signal()
			})
		}
		t := time.NewTimer(next)
		select {
		case <-t.C:
		case <-m.wake:
		case <-m.ctx.Done():
			t.Stop()
			return
		}
		t.Stop()
	}
}

// takeOver is how long a claim of another process may take.
func (m *Schedules) takeOver() time.Duration {
	if m.cfg.Alone {
		return 0
	}
	return takeOver
}

// next is how long it is until a schedule has something to do; false: it has not.
func (m *Schedules) next(s *schedule, now time.Time) (left time.Duration, ok bool) {
	switch {
	case s.st.Claim != nil && s.st.Claim.Boot != m.cfg.Boot:
		left, ok = s.seen.Add(m.takeOver()).Sub(now), true
	case s.st.Claim != nil:
		left, ok = s.seen.Sub(now), true
	case len(s.st.Waiting) > 0:
		left, ok = s.check.Sub(now), true
	}
	if s.st.Claim == nil && !s.st.Paused && !s.st.Next.IsZero() {
		if due := m.cfg.Clock.Left(s.due, now); !ok || due < left {
			left, ok = due, true
		}
		if s.look {
			left = 0
		}
	}
	return max(left, s.later.Sub(now)), ok
}

// turn does what there is to do for a schedule.
func (m *Schedules) turn(ctx context.Context, s *schedule) {
	s.turns.Lock()
	defer s.turns.Unlock()
	for ctx.Err() == nil {
		did, err := false, error(nil)
		func() {
			defer func() { // a fault in one schedule is not to end the service
				if v := recover(); v != nil {
					err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
				}
			}()
			did, err = m.step(ctx, s)
		}()
		m.mu.Lock()
		st := s.st
		if err != nil {
			s.later = time.Now().Add(again)
		}
		m.mu.Unlock()
		switch {
		case errors.Is(err, persistence.ErrConflict): // somebody else has decided
			if err = m.reread(ctx, st); err == nil {
				m.mu.Lock()
				s.later = time.Time{}
				m.mu.Unlock()
				continue
			}
			if errors.Is(err, persistence.ErrNotFound) { // it was removed
				return
			}
			fallthrough
		case err != nil:
			if ctx.Err() == nil {
				m.cfg.Log.Error().Err(err).Str("schedule", st.ID).Msg("schedule does not go on")
			}
			return
		case !did:
			return
		}
	}
}

// reread reads the state of a schedule that has changed.
func (m *Schedules) reread(ctx context.Context, st records.ScheduleState) error {
	now, rev, err := m.disk.State(ctx, st.Account, st.ID)
	if errors.Is(err, persistence.ErrNotFound) {
		m.mu.Lock()
		delete(m.all, records.ScheduleStateKey(st.Account, st.ID))
		m.mu.Unlock()
		return err
	}
	if err == nil {
		m.apply(now, rev)
	}
	return err
}
