package cluster_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/testkit/need"
)

func (to *testCluster) schedule(h *testNode, every time.Duration, overlap api.ScheduleOverlap) *api.Schedule {
	to.t.Helper()
	task, err := engine.ParseScheduled([]byte(`{"actions":[{"wait":1}]}`), nil)
	if err != nil {
		to.t.Fatal(err)
	}
	x, err := api.Ask(context.Background(), h.Router, &api.PutSchedule{Account: anna, Spec: api.ScheduleSpec{
		Every: every, Zone: "UTC", Missed: api.MissedAll, Overlap: overlap, Task: task,
	}})
	if err != nil || x.Refusal != nil {
		to.t.Fatalf("%+v, %v", x, err)
	}
	return x.Schedule
}

func (to *testCluster) runsOf(h *testNode, id string) []api.ScheduleRun {
	to.t.Helper()
	x, err := api.Ask(context.Background(), h.Router, &api.GetSchedule{Account: anna, ID: id, Runs: 100})
	if err != nil || x.Refusal != nil {
		to.t.Fatalf("%+v, %v", x, err)
	}
	return x.Schedule.Runs
}

// TestSchedulesOfNodes: schedules are made, listed, run and removed at every node. Of all
// nodes one begins the run of each time, also when the node is gone that has begun the
// last ones.
func TestSchedulesOfNodes(t *testing.T) {
	t.Parallel()
	to := newQueueCluster(t, time.Millisecond, 1, 1, 1)
	limits := engine.DefaultLimits()
	pro := limits[engine.Pro]
	pro.ScheduleEvery = time.Second
	limits[engine.Pro] = pro
	for _, h := range to.nodes {
		h.Node.SetLimits(limits)
	}
	s := to.schedule(to.nodes[0], time.Second, api.OverlapQueue)
	to.until("runs complete", func() bool {
		all := to.runsOf(to.nodes[1], s.ID)
		return len(all) >= 2 && all[1].Status == api.RunComplete
	})
	for _, h := range to.nodes {
		if l, err := api.Ask(context.Background(), h.Router, &api.ListSchedules{Account: anna}); err != nil || len(l.Schedules) != 1 {
			t.Errorf("at %s: %+v, %v", h.name, l, err)
		}
	}
	// A node that orders the queue goes, and is not the one that all ask.
	lost := to.ordered()
	to.dies(lost)
	lost.cut.Store(true)
	left := to.other(lost)
	before := len(to.runsOf(left, s.ID))
	to.until("runs complete without the node", func() bool {
		all := to.runsOf(left, s.ID)
		return len(all) >= before+3 && all[2].Status == api.RunComplete
	})
	if x, err := api.Ask(context.Background(), left.Router, &api.ChangeSchedule{Account: anna, ID: s.ID, Change: api.SchedulePause}); err != nil || x.Refusal != nil {
		t.Fatalf("%+v, %v", x, err)
	}
	to.until("all runs have ended", func() bool {
		return !slices.ContainsFunc(to.runsOf(left, s.ID), func(r api.ScheduleRun) bool { return r.Status == api.RunQueued })
	})
	all := to.runsOf(left, s.ID)
	for i, r := range all {
		if i > 0 && all[i-1].Planned.Sub(r.Planned) != time.Second {
			t.Errorf("%v is followed by %v", r.Planned, all[i-1].Planned)
		}
		if n := to.plays(r.Task); r.Task != "" && n != 1 && !(n == 0 && r.Code != "") {
			t.Errorf("%+v was played %d times", r, n)
		}
	}
	third := to.other(lost, left)
	if x, err := api.Ask(context.Background(), third.Router, &api.ChangeSchedule{Account: anna, ID: s.ID, Change: api.ScheduleRemove}); err != nil || x.Refusal != nil {
		t.Fatalf("%+v, %v", x, err)
	}
	to.until("the schedule is gone at the other node", func() bool {
		l, err := api.Ask(context.Background(), left.Router, &api.ListSchedules{Account: anna})
		return err == nil && len(l.Schedules) == 0
	})
}

// TestLostClaimOfASchedule: a node is lost between the claim of a time and the start of
// its task. Another node begins it, once.
func TestLostClaimOfASchedule(t *testing.T) {
	need.All(t)
	t.Parallel() // it waits until the claim may be taken over
	to := newQueueCluster(t, time.Millisecond, 1, 1, 1)
	s := to.schedule(to.nodes[0], time.Hour, api.OverlapSkip)
	disk, err := records.Open(records.Config{Store: to.store, Files: to.files, Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	st, rev, err := disk.Schedules().State(context.Background(), anna.ID, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	planned := time.Now().UTC().Truncate(time.Second)
	named := to.enqueue(to.nodes[0], anna, `true`) // its identifier has a place
	st.Claim = &records.ScheduleClaim{ScheduleDue: records.ScheduleDue{Planned: planned}, At: time.Now(), Boot: "lost", Task: "task_00112233445566aa_1795449034" + named[strings.LastIndex(named, "_"):]}
	if _, err := disk.Schedules().PutState(context.Background(), st, rev); err != nil {
		t.Fatal(err)
	}
	to.until("the run completes", func() bool {
		all := to.runsOf(to.nodes[2], s.ID)
		return len(all) == 1 && all[0].Status == api.RunComplete
	})
	if n := to.plays(st.Claim.Task); n != 1 {
		t.Errorf("played %d times", n)
	}
}

// TestScheduledBatchOfNodes: a run of a schedule is a batch, at whichever node the schedule
// was made. The run ends with it.
func TestScheduledBatchOfNodes(t *testing.T) {
	t.Parallel()
	to := newQueueCluster(t, time.Millisecond, 1, 1, 1)
	task, err := engine.ParseTemplate([]byte(`{"actions":[{"set":{"n":"${item.n}"}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := to.ordered()
	h := to.other(at)
	x, err := api.Ask(context.Background(), h.Router, &api.PutSchedule{Account: anna, Spec: api.ScheduleSpec{
		Every: time.Hour, Zone: "UTC", Missed: api.MissedOnce, Overlap: api.OverlapSkip, Task: task.Task,
		Batch: &api.ScheduleBatch{Items: []json.RawMessage{[]byte(`{"n":1}`), []byte(`{"n":2}`)}},
	}})
	if err != nil || x.Refusal != nil {
		t.Fatalf("%+v, %v", x, err)
	}
	id := x.Schedule.ID
	if x, err := api.Ask(context.Background(), h.Router, &api.ChangeSchedule{Account: anna, ID: id, Change: api.ScheduleRunNow}); err != nil || x.Refusal != nil {
		t.Fatalf("%+v, %v", x, err)
	}
	var run api.ScheduleRun
	to.until("the run completes", func() bool {
		all := to.runsOf(to.other(at, h), id)
		if len(all) == 1 {
			run = all[0]
		}
		return run.Status == api.RunComplete
	})
	if b := to.ended(at, run.Batch); b.Done != 2 || b.Items != 2 {
		t.Errorf("%+v", b)
	}
}
