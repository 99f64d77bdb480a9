package clock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence/clock"
)

// TestSteps: whatever is done to a clock, a wait ends when it shows the time.
func TestSteps(t *testing.T) {
	for name, one := range map[string]struct {
		after, ahead time.Duration // when the clock is set, and to what
		want         time.Duration // when a wait for an hour ends
		late         time.Duration
	}{
		"none":           {time.Minute, 0, time.Hour, 0},
		"forward":        {time.Minute, 30 * time.Minute, 30 * time.Minute, 0},
		"over it":        {time.Minute, 24 * time.Hour, time.Minute, clock.Look},
		"over it, later": {59*time.Minute + time.Second, 24 * time.Hour, 59*time.Minute + time.Second, clock.Look},
		"back":           {time.Minute, -30 * time.Minute, 90 * time.Minute, 0},
		"days back":      {time.Minute, -72 * time.Hour, 73 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, began := &clock.Clock{}, time.Now()
				at := c.Stored(c.Now().Add(time.Hour))
				time.AfterFunc(one.after, func() { c.Set(one.ahead) })
				var called atomic.Int64
				c.AfterFunc(at, func() { called.Store(int64(time.Since(began))) })
				stopped := c.AfterFunc(at, func() { t.Error("it was stopped") })
				time.AfterFunc(2*one.after/3, stopped.Stop)
				if !c.Until(t.Context(), at) {
					t.Error("the wait was given up")
				}
				if took := time.Since(began); took < one.want || took > one.want+one.late {
					t.Errorf("Until took %s, want %s", took, one.want)
				}
				time.Sleep(clock.Look + time.Second)
				if took := time.Duration(called.Load()); took < one.want || took > one.want+one.late {
					t.Errorf("AfterFunc took %s, want %s", took, one.want)
				}
			})
		})
	}
}

// TestUntilEnds: a wait ends with its context.
func TestUntilEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		if (*clock.Clock)(nil).Until(ctx, (*clock.Clock)(nil).Stored(time.Now().Add(time.Hour))) || time.Since(began) != 7*time.Second {
			t.Errorf("it took %s", time.Since(began))
		}
	})
}

// TestPauses: a pause is over by the first of the two clocks.
func TestPauses(t *testing.T) {
	for name, one := range map[string]struct{ ahead, want, late time.Duration }{
		"none":       {0, time.Hour, 0},
		"back":       {-72 * time.Hour, time.Hour, 0},
		"forward":    {30 * time.Minute, 30 * time.Minute, 0},
		"it slept":   {24 * time.Hour, time.Minute, clock.Look},
		"an instant": {time.Second, time.Hour - time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, began := &clock.Clock{}, time.Now()
				time.AfterFunc(time.Minute, func() { c.Set(one.ahead) })
				if !c.Until(t.Context(), c.After(began, time.Hour)) {
					t.Error("the wait was given up")
				}
				if took := time.Since(began); took < one.want || took > one.want+one.late {
					t.Errorf("it took %s, want %s", took, one.want)
				}
			})
		})
	}
}
