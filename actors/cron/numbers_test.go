package cron

import (
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// TestNumbers: schedules by their state, how late a run is that cannot begin, and what
// became of times.
func TestNumbers(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		want := func(what string, want api.ScheduleNumbers) {
			t.Helper()
			if got := k.m.Numbers(); got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		k.put(nil)
		until(time.Second) // the kit names schedules after the time
		paused := k.put(nil)
		k.change(paused, api.SchedulePause)
		until(90 * time.Minute)
		want("a run", api.ScheduleNumbers{Active: 1, Paused: 1, Begun: 1})

		k.queue.refuse(api.Refuse(engine.CodeNoQuorum, "nobody has a majority"))
		until(2*time.Hour + 7*time.Minute)
		want("a run that cannot begin", api.ScheduleNumbers{Active: 1, Paused: 1, Late: 7 * time.Minute, Begun: 2})
		k.queue.refuse(nil)
		until(2*time.Hour + 8*time.Minute)
		want("it begins", api.ScheduleNumbers{Active: 1, Paused: 1, Begun: 2})

		k.m.Stop()
		until(5*time.Hour + 30*time.Minute)
		k.open()
		want("a stop over three times", api.ScheduleNumbers{Active: 1, Paused: 1, Begun: 1, Missed: 2})

		k.queue.mu.Lock()
		k.queue.takes = 90 * time.Minute
		k.queue.mu.Unlock()
		until(7*time.Hour + time.Minute)
		want("a run goes on at the next time", api.ScheduleNumbers{Active: 1, Paused: 1, Begun: 2, Skipped: 1, Missed: 2})
		k.m.Forget(ada.ID)
		want("the account is gone", api.ScheduleNumbers{Begun: 2, Skipped: 1, Missed: 2})
	})
}
