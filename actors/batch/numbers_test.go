package batch

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
)

// TestNumbers: what batches do that have not ended, and how long a limit has held one back.
func TestNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(s api.BatchState) *state { return &state{b: records.Batch{State: s}} }
		one, other := in(api.BatchRunning), in(api.BatchRunning)
		m := &Batches{all: map[string]*state{
			"one": one, "other": other, "goes on": in(api.BatchRunning), "paused": in(api.BatchPaused),
			"comes in": in(api.BatchReceiving), "cancelled": in(api.BatchCancelled), "ended": in(api.BatchEnded),
		}}
		want := func(n api.BatchNumbers) {
			t.Helper()
			if got := m.Numbers(); got != n {
				t.Errorf("%+v, want %+v", got, n)
			}
		}
		want(api.BatchNumbers{Running: 3, Paused: 1})
		one.holdBack(engine.CodeQueueFull)
		time.Sleep(time.Minute)
		one.holdBack(engine.CodeStorageQuota)
		other.holdBack(engine.CodeQueueFull)
		time.Sleep(time.Minute)
		want(api.BatchNumbers{Running: 3, Paused: 1, Held: 2, HeldFor: 2 * time.Minute})
		one.holdBack("")
		want(api.BatchNumbers{Running: 3, Paused: 1, Held: 1, HeldFor: time.Minute})
		one.holdBack(engine.CodeQueueFull)
		other.b.State = api.BatchPaused
		want(api.BatchNumbers{Running: 2, Paused: 2, Held: 1})
		var none *Batches
		if got := none.Numbers(); got != (api.BatchNumbers{}) {
			t.Errorf("of no batches: %+v", got)
		}
	})
}
