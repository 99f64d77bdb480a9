package cron

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/clock"
)

// fakeQueue is a queue whose tasks run until the test ends them.
type fakeQueue struct {
	t     *testing.T
	disk  *records.Store
	mu    sync.Mutex
	named int
	added []string // "planned task", in the order in which they were added
	runs  map[string]api.ScheduleRef
	takes time.Duration // zero: tasks end at once
	no    *api.Refusal
	// begun are the runs, with when each was added by the clock that nobody can set.
	begun []begun
}

type begun struct {
	of   api.ScheduleRef
	task string
	at   time.Time
}

func (q *fakeQueue) Name(x *api.Execute) *api.Execute {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.named++
	named := *x
	named.TaskID = fmt.Sprintf("t%d-%p", q.named, q)
	return &named
}

func (q *fakeQueue) Add(ctx context.Context, x *api.Execute) (*api.Started, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.no != nil {
		return &api.Started{TaskID: x.TaskID, Refusal: q.no}, nil
	}
	q.begun = append(q.begun, begun{*x.Schedule, x.TaskID, time.Now()})
	q.added = append(q.added, x.Schedule.Planned.UTC().Format("15:04:05"))
	q.runs[x.TaskID] = *x.Schedule
	_, err := q.disk.PutTask(ctx, records.Task{ID: x.TaskID, Account: x.Account.ID, Status: api.TaskPending}, nil)
	if takes := q.takes; takes == 0 {
		err = q.end(*x.Schedule, api.RunComplete, "")
	} else if takes > 0 {
		time.AfterFunc(takes, func() { _ = q.end(*x.Schedule, api.RunComplete, "") })
	}
	return &api.Started{TaskID: x.TaskID, Queued: &api.QueuePlace{}}, err
}

// refuse makes it refuse what is added from now on; nil: take it again.
func (q *fakeQueue) refuse(no *api.Refusal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.no = no
}

func (q *fakeQueue) end(of api.ScheduleRef, status api.RunStatus, code engine.Code) error {
	if run, err := q.disk.Schedules().Run(context.Background(), of.Schedule, of.Planned); err != nil || run == nil || !run.Ended.IsZero() {
		return err
	}
	return q.disk.Schedules().EndRun(context.Background(), &of, time.Now(), status, code)
}

func (q *fakeQueue) Cancel(_ context.Context, m *api.Cancel) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end(q.runs[m.TaskID], api.RunFailed, engine.CodeCancelled)
}

func (q *fakeQueue) has() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.added, " ")
}

// kit is schedules over a store in memory, at midnight.
type kit struct {
	t     *testing.T
	store persistence.Store
	seal  *persistence.Seal
	queue *fakeQueue
	m     *Schedules
	gone  atomic.Bool // the account is
	named atomic.Int64
	boots int
	alone bool
	wall  *clock.Clock
}

func newKit(t *testing.T, store persistence.Store) *kit {
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, store: store, seal: seal, wall: &clock.Clock{}}
	r, err := records.Open(records.Config{Store: store, Files: persistence.NewMemoryFiles(), Seal: seal, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	k.queue = &fakeQueue{t: t, disk: r, runs: map[string]api.ScheduleRef{}}
	k.open()
	return k
}

func (k *kit) open() {
	k.boots++
	limits := engine.DefaultLimits()
	pro := limits[engine.Pro]
	pro.Schedules, pro.ScheduleEvery = 3, time.Second
	limits[engine.Pro] = pro
	m, err := Open(k.t.Context(), Config{
		Records: k.queue.disk, Queue: k.queue, Account: k.account, Limits: func() map[engine.Plan]engine.Limits { return limits },
		Clock: k.wall, Boot: fmt.Sprintf("boot%d-%p", k.boots, k), Alone: k.alone, NewID: func() string { return fmt.Sprintf("s%d-%p", k.named.Add(1), k) }, Log: zerolog.Nop(),
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.m = m
	m.Start()
	synctest.Wait()
}

func (k *kit) account(context.Context, string) (api.Account, error) {
	if k.gone.Load() {
		return api.Account{}, persistence.ErrNotFound
	}
	return ada, nil
}

var ada = api.Account{ID: "ada", Plan: engine.Pro}

func hourly(t *testing.T, change func(*api.ScheduleSpec)) api.ScheduleSpec {
	task, err := engine.ParseScheduled([]byte(`{"actions":[{"wait":1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := api.ScheduleSpec{Cron: "0 * * * *", Zone: "UTC", Missed: api.MissedOnce, Overlap: api.OverlapSkip, Task: task}
	if change != nil {
		change(&s)
	}
	return s
}

func (k *kit) put(change func(*api.ScheduleSpec)) string {
	k.t.Helper()
	x, err := k.m.Put(k.t.Context(), &api.PutSchedule{Account: ada, Spec: hourly(k.t, change)})
	if err != nil || x.Refusal != nil {
		k.t.Fatal(x, err)
	}
	return x.Schedule.ID
}

func (k *kit) change(id string, to api.ScheduleChange) *api.Scheduled {
	k.t.Helper()
	x, err := k.m.Change(k.t.Context(), &api.ChangeSchedule{Account: ada, ID: id, Change: to})
	if err != nil {
		k.t.Fatal(err)
	}
	return x
}

// until lets the time pass, to a time of the clock of the first day, or days after it.
func until(at time.Duration) {
	time.Sleep(time.Until(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)))
	synctest.Wait()
}

// history is what became of the last times, the oldest first.
func (k *kit) history(id string) string {
	k.t.Helper()
	x, err := k.m.Get(k.t.Context(), &api.GetSchedule{Account: ada, ID: id, Runs: 100})
	if err != nil || x.Refusal != nil {
		k.t.Fatal(x, err)
	}
	var all []string
	for _, r := range slices.Backward(x.Schedule.Runs) {
		one := r.Planned.UTC().Format("15:04") + " " + string(r.Status)
		if r.Code != "" {
			one += " " + string(r.Code)
		}
		if r.Times > 0 {
			one += fmt.Sprintf(" x%d", r.Times)
		}
		all = append(all, one)
	}
	return strings.Join(all, ", ")
}

func (k *kit) want(id, added, history string) {
	k.t.Helper()
	synctest.Wait()
	if got := k.queue.has(); got != added {
		k.t.Errorf("added: %s, want %s", got, added)
	}
	if got := k.history(id); got != history {
		k.t.Errorf("history: %s, want %s", got, history)
	}
}

// inTime runs a test in fake time.
func inTime(t *testing.T, f func(*testing.T, *kit)) {
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		defer store.Close()
		k := newKit(t, store)
		defer func() { k.m.Stop() }()
		f(t, k)
	})
}
