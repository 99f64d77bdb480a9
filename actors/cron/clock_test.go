package cron

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
	"troupe/testkit/need"
)

// late is how late a run may begin, whatever is done to the wall clock.
const late = 15 * time.Second

// everyMinutes is a schedule of an interval.
func everyMinutes(n int) func(*api.ScheduleSpec) {
	return func(s *api.ScheduleSpec) { s.Cron, s.Every = "", time.Duration(n)*time.Minute }
}

// starts are the runs of a schedule.
func (k *kit) starts(id string) (all []begun) {
	k.queue.mu.Lock()
	defer k.queue.mu.Unlock()
	for _, b := range k.queue.begun {
		if b.of.Schedule == id {
			all = append(all, b)
		}
	}
	return all
}

// TestMonthOfClockSteps: a month in which the wall clock is set again and again, and the
// service restarts. Each time has one run. An interval takes no longer than it is, in real
// time, and a cron line runs when the clock shows its time, or has passed it.
func TestMonthOfClockSteps(t *testing.T) {
	seeds := 2
	switch {
	case need.Race: // which takes many times as long
		seeds = 1
	case need.AllAsked():
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inTime(t, func(t *testing.T, k *kit) { month(t, k, rand.New(rand.NewPCG(45, uint64(seed)))) })
		})
	}
}

func month(t *testing.T, k *kit, r *rand.Rand) {
	k.m.Stop()
	k.alone = r.IntN(4) > 0
	k.open()
	n := 2 + r.IntN(50)
	ids := []string{k.put(everyMinutes(n)), k.put(func(s *api.ScheduleSpec) { s.Missed = api.MissedOnce })}
	began := time.Now()
	for i := 0; time.Since(began) < 30*24*time.Hour; i++ {
		time.Sleep(time.Duration(1+r.Int64N(int64(16*time.Hour/time.Millisecond))) * time.Millisecond)
		ahead := time.Duration(r.Int64N(int64(24*time.Hour))) - 12*time.Hour
		switch r.IntN(4) {
		case 0:
			ahead = 0
		case 1:
			ahead /= 1 << (1 + r.IntN(16))
		}
		k.wall.Set(ahead)
		if r.IntN(8) == 0 {
			k.m.Stop()
			k.open()
		}
	}
	synctest.Wait()
	k.onceEach(ids[0])
	k.onceEach(ids[1])
	at := began
	for _, b := range append(k.starts(ids[0]), begun{at: time.Now()}) {
		// A restart begins the interval again; there is no second one in between.
		if gap := b.at.Sub(at); gap > 2*time.Duration(n)*time.Minute+late {
			t.Errorf("every %d minutes: nothing ran for %s before %s", n, gap, b.at)
		}
		at = b.at
	}
}

// onceEach fails where a time had two runs.
func (k *kit) onceEach(id string) {
	k.t.Helper()
	had := map[int64]time.Time{}
	for _, b := range k.starts(id) {
		if before, twice := had[b.of.Planned.UnixMilli()]; twice {
			k.t.Errorf("the time %s has a run at %s and at %s", b.of.Planned, before, b.at)
		}
		had[b.of.Planned.UnixMilli()] = b.at
	}
}

// TestEveryOverSteps: what becomes of an interval of ten minutes where the clock is set once.
func TestEveryOverSteps(t *testing.T) {
	for name, one := range map[string]struct {
		ahead   time.Duration // from 00:25 on
		restart bool
		want    []time.Duration // when runs begin, by the clock that nobody can set
		late    time.Duration
	}{
		"none":           {0, false, minutes(10, 20, 30, 40, 50), 0},
		"back":           {-12 * time.Hour, false, minutes(10, 20, 30, 40, 50), late},
		"days back":      {-72 * time.Hour, false, minutes(10, 20, 30, 40, 50), late},
		"a little back":  {-7 * time.Minute, false, minutes(10, 20, 30, 40, 50), late},
		"an hour back":   {-time.Hour, false, minutes(10, 20, 30, 40, 50), late},
		"forward":        {3 * time.Minute, false, minutes(10, 20, 27, 37, 47), late},
		"hours forward":  {12 * time.Hour, false, minutes(10, 20, 25, 30, 40, 50), late}, // the times stay where they are
		"back, restart":  {-12 * time.Hour, true, minutes(10, 20, 35, 45, 55), late},
		"years, restart": {-10 * 365 * 24 * time.Hour, true, minutes(10, 20, 35, 45, 55), late},
	} {
		for _, alone := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", alone ", alone), func(t *testing.T) {
				inTime(t, func(t *testing.T, k *kit) {
					k.m.Stop()
					k.alone = alone
					k.open()
					id, began := k.put(everyMinutes(10)), time.Now()
					time.Sleep(25 * time.Minute)
					k.wall.Set(one.ahead)
					if one.restart {
						k.m.Stop()
						k.open()
					}
					time.Sleep(34*time.Minute + 30*time.Second)
					k.onceEach(id)
					var got []time.Duration
					for _, b := range k.starts(id) {
						got = append(got, b.at.Sub(began))
					}
					ok := len(got) >= len(one.want)
					for i := 0; ok && i < len(one.want); i++ {
						ok = got[i] >= one.want[i]-time.Second && got[i] <= one.want[i]+one.late
					}
					if !ok || len(got) > len(one.want)+1 {
						t.Errorf("runs after %v, want %v", got, one.want)
					}
					if all := k.starts(id); k.alone && all[len(all)-1].of.Planned.Sub(k.wall.Now()).Abs() > 11*time.Minute {
						t.Errorf("the last run is planned for %v, and it is %v", all[len(all)-1].of.Planned, k.wall.Now())
					}
				})
			})
		}
	}
}

func minutes(all ...int) (d []time.Duration) {
	for _, n := range all {
		d = append(d, time.Duration(n)*time.Minute)
	}
	return d
}

// TestCronOverSteps: an hourly line where the clock is set once, at 02:30.
func TestCronOverSteps(t *testing.T) {
	for name, one := range map[string]struct {
		ahead time.Duration
		want  string // of what had a run within the next two hours, by the wall clock
		skip  string // the same with missed: skip
	}{
		"none":            {0, "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete", "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete"},
		"a little":        {29*time.Minute + 50*time.Second, "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete, 05:00 complete", "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete, 05:00 complete"},
		"over the time":   {30*time.Minute + 30*time.Second, "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete, 05:00 complete", "01:00 complete, 02:00 complete, 03:00 complete, 04:00 complete, 05:00 complete"},
		"hours":           {6 * time.Hour, "01:00 complete, 02:00 complete, 08:00 complete x6, 09:00 complete, 10:00 complete", "01:00 complete, 02:00 complete, 08:00 missed x6, 09:00 complete, 10:00 complete"},
		"back":            {-time.Hour, "01:00 complete, 02:00 complete, 03:00 complete", "01:00 complete, 02:00 complete, 03:00 complete"},
		"three days back": {-72 * time.Hour, "03:00 complete, 04:00 complete, 01:00 complete, 02:00 complete", "03:00 complete, 04:00 complete, 01:00 complete, 02:00 complete"},
	} {
		for _, missed := range []api.ScheduleMissed{api.MissedOnce, api.MissedSkip} {
			t.Run(fmt.Sprint(name, ", ", missed), func(t *testing.T) {
				inTime(t, func(t *testing.T, k *kit) {
					k.m.Stop()
					k.alone = true
					k.open()
					id := k.put(func(s *api.ScheduleSpec) { s.Missed = missed })
					until(2*time.Hour + 30*time.Minute)
					k.wall.Set(one.ahead)
					until(4*time.Hour + 40*time.Minute)
					want := one.want
					if missed == api.MissedSkip {
						want = one.skip
					}
					if got := k.history(id); got != want {
						t.Errorf("the history: %s\nwant %s", got, want)
					}
					k.onceEach(id)
				})
			})
		}
	}
}

// TestGoesOnAfterAStepBack: a run that has ended holds up no other because its begin is in
// the future.
func TestGoesOnAfterAStepBack(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		k.m.Stop()
		k.alone = true
		k.open()
		k.queue.takes = -1 // nobody tells of an end
		id := k.put(everyMinutes(10))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		k.wall.Set(-5 * time.Hour)
		if err := k.store.Delete(t.Context(), "task/"+k.queue.begun[0].task, nil, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if n := len(k.starts(id)); n != 2 {
			t.Errorf("%d runs have begun, want 2", n)
		}
	})
}

// TestSamePutMovesNothing: a program that writes the same schedule again and again neither
// stops it nor moves its times, also where it changes what runs.
func TestSamePutMovesNothing(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		id := k.put(everyMinutes(10))
		jittered := k.put(func(s *api.ScheduleSpec) { s.Jitter = 50 * time.Minute })
		put := func(id string, change func(*api.ScheduleSpec)) {
			x, err := k.m.Put(t.Context(), &api.PutSchedule{Account: ada, ID: id, Spec: hourly(t, change)})
			if err != nil || x.Refusal != nil {
				t.Fatal(x, err)
			}
		}
		for i := range 60 {
			time.Sleep(3 * time.Minute)
			put(id, func(s *api.ScheduleSpec) {
				everyMinutes(10)(s)
				s.Name = fmt.Sprint("deployed ", i)
			})
			put(jittered, func(s *api.ScheduleSpec) { s.Jitter = 50 * time.Minute })
		}
		time.Sleep(51 * time.Minute)
		if n := len(k.starts(id)); n != 23 {
			t.Errorf("%d runs in 231 minutes, want 23", n)
		}
		if n := len(k.starts(jittered)); n != 3 {
			t.Errorf("%d runs with jitter in 231 minutes, want 3", n)
		}
		put(id, everyMinutes(7)) // another interval begins now
		time.Sleep(7*time.Minute + time.Second)
		if n := len(k.starts(id)); n != 24 {
			t.Errorf("%d runs after the interval was changed, want 24", n)
		}
	})
}

// TestNodesWithWrongClocks: of nodes whose clocks differ, none begins more runs than there
// are, and the interval is kept.
func TestNodesWithWrongClocks(t *testing.T) {
	for _, behind := range []time.Duration{5 * time.Minute, time.Hour, 26 * time.Hour, 72 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := persistence.NewMemory()
			defer store.Close()
			right, wrong := newKit(t, store), newKit(t, store)
			wrong.wall.Set(-behind)
			defer right.m.Stop()
			defer wrong.m.Stop()
			every, hourly := right.put(everyMinutes(10)), right.put(nil)
			time.Sleep(24*time.Hour + time.Minute)
			for id, want := range map[string]int{every: 144, hourly: 24} {
				if n := len(right.starts(id)) + len(wrong.starts(id)); n < want-1 || n > want+1 {
					t.Errorf("%s behind: %d runs, want %d", behind, n, want)
				}
				right.onceEach(id)
			}
		})
	}
}
