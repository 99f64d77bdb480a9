package cron

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// Promise: Each time of a schedule has one run
// (docs/schedules.md#when-the-service-stops).
func TestEachTimeHasOneRun(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		id := k.put(nil)
		until(3*time.Hour - time.Second)
		k.want(id, "01:00:00 02:00:00", "01:00 complete, 02:00 complete")
		until(3 * time.Hour)
		k.want(id, "01:00:00 02:00:00 03:00:00", "01:00 complete, 02:00 complete, 03:00 complete")
	})
}

// Promise: While a run goes on, `overlap` decides about the next
// (docs/schedules.md#when-a-run-still-goes-on).
func TestOverlap(t *testing.T) {
	for overlap, want := range map[api.ScheduleOverlap][2]string{
		api.OverlapSkip:    {"01:00:00 04:00:00", "01:00 complete, 02:00 skipped, 03:00 skipped, 04:00 queued"},
		api.OverlapQueue:   {"01:00:00 02:00:00", "01:00 complete, 02:00 queued"},
		api.OverlapReplace: {"01:00:00 02:00:00 03:00:00 04:00:00", "01:00 failed cancelled, 02:00 failed cancelled, 03:00 failed cancelled, 04:00 queued"},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			inTime(t, func(t *testing.T, k *kit) {
				k.queue.takes = 150 * time.Minute
				id := k.put(func(s *api.ScheduleSpec) { s.Overlap = overlap })
				until(4*time.Hour + time.Minute)
				k.want(id, want[0], want[1])
			})
		})
	}
}

// TestWaitingRunsFollow: with queue, a run begins as soon as the one before has ended, and
// not so many wait as there are times.
func TestWaitingRunsFollow(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		k.queue.takes = 90 * time.Minute
		id := k.put(func(s *api.ScheduleSpec) { s.Overlap = api.OverlapQueue })
		until(4*time.Hour + time.Second) // 1:00 to 2:30, 2:00 to 4:00
		k.want(id, "01:00:00 02:00:00 03:00:00", "01:00 complete, 02:00 complete, 03:00 queued")
		k.queue.takes = 30 * 24 * time.Hour
		id = k.put(func(s *api.ScheduleSpec) { everyMinutes(10)(s); s.Overlap = api.OverlapQueue })
		until((4 + 18) * time.Hour) // of which maxWaiting take 17
		x, err := k.m.Get(t.Context(), &api.GetSchedule{Account: ada, ID: id})
		if err != nil || x.Schedule.Waiting != maxWaiting {
			t.Errorf("%d wait, %v", x.Schedule.Waiting, err)
		}
	})
}

// Promise: Times at which the service did not run are treated as `missed` says
// (docs/schedules.md#when-the-service-stops).
func TestMissed(t *testing.T) {
	for missed, want := range map[api.ScheduleMissed][2]string{
		api.MissedSkip: {"01:00:00 06:00:00", "01:00 complete, 05:00 missed x4, 06:00 complete"},
		api.MissedOnce: {"01:00:00 05:00:00 06:00:00", "01:00 complete, 05:00 complete x4, 06:00 complete"},
		api.MissedAll:  {"01:00:00 02:00:00 03:00:00 04:00:00 05:00:00 06:00:00", "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete, 05:00 complete, 06:00 complete"},
	} {
		t.Run(string(missed), func(t *testing.T) {
			inTime(t, func(t *testing.T, k *kit) {
				id := k.put(func(s *api.ScheduleSpec) { s.Missed = missed })
				until(90 * time.Minute)
				k.m.Stop()
				until(5*time.Hour + 30*time.Minute)
				k.open()
				until(6 * time.Hour)
				k.want(id, want[0], want[1])
			})
		})
	}
}

// TestShortStopMissesNothing: a run that is late by less than a minute is no missed one.
func TestShortStopMissesNothing(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		id := k.put(func(s *api.ScheduleSpec) { s.Missed = api.MissedSkip })
		until(time.Hour - time.Second)
		k.m.Stop()
		until(time.Hour + 59*time.Second)
		k.open()
		k.want(id, "01:00:00", "01:00 complete")
	})
}

func TestPauseAndResume(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		k.queue.takes = 3 * time.Hour
		id := k.put(func(s *api.ScheduleSpec) { s.Overlap = api.OverlapQueue })
		until(2*time.Hour + time.Second)
		if x := k.change(id, api.SchedulePause); !x.Schedule.Paused || len(x.Schedule.Next) != 0 || x.Schedule.Waiting != 0 {
			t.Errorf("paused: %+v", x.Schedule)
		}
		until(10*time.Hour + time.Second)
		k.want(id, "01:00:00", "01:00 complete, 02:00 skipped")
		if x := k.change(id, api.ScheduleRunNow); x.Refusal != nil || x.Schedule.Runs[0].Status != api.RunQueued || !x.Schedule.Runs[0].Manual {
			t.Errorf("run now: %+v", x)
		}
		if x := k.change(id, api.ScheduleResume); x.Schedule.Paused || x.Schedule.Next[0].Hour() != 11 {
			t.Errorf("resumed: %+v", x.Schedule)
		}
		until(14 * time.Hour)
		k.want(id, "01:00:00 10:00:01 11:00:00", "01:00 complete, 02:00 skipped, 10:00 complete, 11:00 queued")
		k.change(id, api.ScheduleRemove)
		until(24 * time.Hour)
		if got := k.queue.has(); got != "01:00:00 10:00:01 11:00:00" {
			t.Errorf("a removed schedule goes on: %s", got)
		}
	})
}

func TestRunNowWhileItGoesOn(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		k.queue.takes = -1
		id := k.put(nil)
		k.change(id, api.ScheduleRunNow)
		if x := k.change(id, api.ScheduleRunNow); x.Refusal == nil || x.Refusal.Code != engine.CodeInvalidRequest {
			t.Errorf("a second one: %+v", x)
		}
	})
}

// TestJitterIsKept: runs begin later than planned, by less than the jitter, and each once.
func TestJitterIsKept(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		id := k.put(func(s *api.ScheduleSpec) { s.Jitter = 30 * time.Minute })
		until(10*time.Hour + 30*time.Minute)
		x, err := k.m.Get(t.Context(), &api.GetSchedule{Account: ada, ID: id, Runs: 100})
		if err != nil || len(x.Schedule.Runs) != 10 {
			t.Fatal(x, err)
		}
		later := 0
		for _, r := range x.Schedule.Runs {
			d := r.Begun.Sub(r.Planned)
			if d < 0 || d >= 30*time.Minute || r.Planned.Minute() != 0 {
				t.Errorf("planned %v, begun %v", r.Planned, r.Begun)
			}
			if d > time.Minute {
				later++
			}
		}
		if later < 3 {
			t.Errorf("only %d of 10 are later by more than a minute", later)
		}
	})
}

// TestNodesShareTimes: of three processes over one store, one begins the run of each time.
//
// Promise: Each time has one run in a cluster (docs/schedules.md#limits).
func TestNodesShareTimes(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		others := []*kit{newKit(t, k.store), newKit(t, k.store)}
		id := k.put(nil)
		for _, o := range others {
			defer func() { o.m.Stop() }()
		}
		until(5 * time.Hour)
		all := strings.Fields(strings.Join([]string{k.queue.has(), others[0].queue.has(), others[1].queue.has()}, " "))
		slices.Sort(all)
		if got := strings.Join(all, " "); got != "01:00:00 02:00:00 03:00:00 04:00:00 05:00:00" {
			t.Errorf("runs: %s", got)
		}
		if got := k.history(id); strings.Count(got, "complete") != 5 {
			t.Errorf("history: %s", got)
		}
	})
}

// TestClaimIsTakenOver: a process ends between the claim of a time and the start of its
// task, or behind it. Another one carries the claim out, once.
func TestClaimIsTakenOver(t *testing.T) {
	for _, c := range []struct {
		name       string
		run, added bool
		takes      time.Duration
		alone      bool
	}{
		{"nothing is written", false, false, 0, false}, {"the run is written", true, false, 0, false},
		{"the task waits", true, true, 20 * time.Second, false}, {"the task has ended", true, true, 0, false},
		{"nobody else is there", false, false, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, k *kit) {
				id := k.put(nil)
				k.queue.takes = c.takes
				until(59 * time.Minute)
				k.m.Stop()
				until(time.Hour)
				st, rev, err := k.m.disk.State(t.Context(), "ada", id)
				if err != nil {
					t.Fatal(err)
				}
				st.Claim = &records.ScheduleClaim{ScheduleDue: records.ScheduleDue{Planned: st.Next}, At: time.Now(), Boot: "lost", Task: "t-lost"}
				st.Next = st.Next.Add(time.Hour)
				st.Begin = st.Next
				of := api.ScheduleRef{Schedule: id, Planned: st.Claim.Planned}
				if c.run {
					_, err = k.m.disk.PutRun(t.Context(), id, api.ScheduleRun{Planned: of.Planned, Task: "t-lost", Begun: time.Now(), Status: api.RunQueued})
				}
				if err == nil {
					_, err = k.m.disk.PutState(t.Context(), st, rev)
				}
				if err == nil && c.added {
					_, err = k.queue.Add(t.Context(), &api.Execute{TaskID: "t-lost", Account: ada, Schedule: &of})
				}
				if err != nil {
					t.Fatal(err)
				}
				k.alone = c.alone
				k.open()
				until(time.Hour + takeOver - time.Second)
				if got := k.queue.has(); (got != "") != (c.added || c.alone) {
					t.Errorf("carried out at once: %q", got)
				}
				if got := k.history(id); !c.added && !c.alone && got != "01:00 queued" {
					t.Errorf("history: %s", got) // also while nobody carries it out
				}
				until(time.Hour + 2*takeOver)
				k.want(id, "01:00:00", "01:00 complete")
				until(2 * time.Hour)
				until(2*time.Hour + time.Minute)
				k.want(id, "01:00:00 02:00:00", "01:00 complete, 02:00 complete")
			})
		})
	}
}

// TestRefusedRuns: a refusal that passes is waited for, another one is the end of the run.
func TestRefusedRuns(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		id := k.put(nil)
		k.queue.refuse(api.Refuse(engine.CodeQueueFull, ""))
		until(time.Hour + time.Second)
		k.want(id, "", "01:00 failed queue_full")
		k.queue.refuse(api.Refuse(engine.CodeNoQuorum, ""))
		until(2*time.Hour + time.Minute)
		k.want(id, "", "01:00 failed queue_full, 02:00 queued")
		k.queue.refuse(nil)
		until(2*time.Hour + 2*time.Minute)
		k.want(id, "02:00:00", "01:00 failed queue_full, 02:00 complete")
	})
}

// TestAccountGone: nothing runs for an account that is gone.
func TestAccountGone(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		id := k.put(nil)
		k.gone.Store(true)
		until(time.Hour + time.Second)
		k.want(id, "", "01:00 failed unauthorized")
		k.m.Forget("ada")
		until(3 * time.Hour)
		k.want(id, "", "01:00 failed unauthorized")
	})
}

func TestScheduleBounds(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		put := func(account api.Account, change func(*api.ScheduleSpec)) *api.Refusal {
			x, err := k.m.Put(t.Context(), &api.PutSchedule{Account: account, Spec: hourly(t, change)})
			if err != nil {
				t.Fatal(err)
			}
			return x.Refusal
		}
		if no := put(api.Account{ID: "bob", Plan: engine.Basic}, nil); no == nil || no.Code != engine.CodePlanRequired {
			t.Errorf("basic: %+v", no)
		}
		if no := put(api.Account{ID: "bob", Plan: engine.Standard}, func(s *api.ScheduleSpec) { s.Cron, s.Every = "", 30*time.Second }); no == nil || !strings.Contains(no.Text, "allows every 1m0s") {
			t.Errorf("too often: %+v", no)
		}
		for range 3 {
			time.Sleep(time.Millisecond)
			k.put(nil)
		}
		if no := put(ada, nil); no == nil || no.Code != engine.CodeScheduleLimit {
			t.Errorf("a fourth: %+v", no)
		}
	})
}

// TestHistoryIsBounded: of many runs the last ones are kept.
func TestHistoryIsBounded(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		k.put(nil)
		until(5 * 24 * time.Hour)
		list, err := k.store.Keys(t.Context(), "schedulerun/", "", 1000)
		if err != nil || len(list) != 100 {
			t.Errorf("%d runs are kept, %v", len(list), err)
		}
	})
}

// TestStopAtTheStart: schedules that are stopped while they begin to follow the changes of
// others end all the same, and so does the node.
func TestStopAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stopping{Store: persistence.NewMemory()}
		k := newKit(t, store)
		k.m.Stop()
		store.stop = func() { k.m.stop() }
		k.open()
		k.m.Stop()
	})
}

// stopping is a store that has its watcher stopped at the moment in which it begins.
type stopping struct {
	persistence.Store
	stop func()
}

func (s *stopping) Watch(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	if s.stop != nil {
		s.stop()
	}
	return s.Store.Watch(ctx, prefix)
}

// TestUnreadableSchedules: a schedule that the key does not open is named in the list, which
// fails no more, and can be removed.
func TestUnreadableSchedules(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		lost := k.put(nil)
		if err := k.seal.Use(bytes.Repeat([]byte{7}, 32)); err != nil {
			t.Fatal(err)
		}
		list := func() *api.SchedulesListed {
			t.Helper()
			x, err := k.m.List(t.Context(), &api.ListSchedules{Account: ada})
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		x := list()
		if len(x.Schedules) != 0 || !slices.Equal(x.Unreadable, []string{lost}) {
			t.Errorf("%+v", x)
		}
		if x := k.change(lost, api.ScheduleRemove); x.Refusal != nil {
			t.Errorf("removed: %+v", x.Refusal)
		}
		if x := list(); len(x.Schedules) != 0 || len(x.Unreadable) != 0 {
			t.Errorf("afterwards: %+v", x)
		}
	})
}
