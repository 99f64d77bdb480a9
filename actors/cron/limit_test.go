package cron

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/actors/api"
	"troupe/engine"
)

// TestLimitHoldsWhenManyCome: many requests at once, at two nodes, make as many schedules
// as the plan allows.
func TestLimitHoldsWhenManyCome(t *testing.T) {
	inTime(t, func(t *testing.T, k *kit) {
		other := newKit(t, k.store)
		defer func() { other.m.Stop() }()
		var work sync.WaitGroup
		var made atomic.Int32
		for i := range 40 {
			m := []*Schedules{k.m, other.m}[i%2]
			work.Go(func() {
				x, err := m.Put(t.Context(), &api.PutSchedule{Account: ada, Spec: hourly(t, nil), Idempotency: &api.Idempotency{Key: fmt.Sprint(i), Digest: []byte("d")}})
				switch {
				case err != nil:
					t.Error(err)
				case x.Refusal == nil:
					made.Add(1)
				case x.Refusal.Code != engine.CodeScheduleLimit:
					t.Error(x.Refusal)
				}
			})
		}
		work.Wait()
		if made.Load() != 3 {
			t.Errorf("%d schedules were made; the plan allows 3", made.Load())
		}
	})
}
