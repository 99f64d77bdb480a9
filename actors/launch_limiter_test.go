package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The first browser of a node starts alone, but nobody waits for one that hangs;
// after it there are as many as there are places.
func TestStarts(t *testing.T) {
	for _, c := range []struct {
		name  string
		first time.Duration // how long the first launch takes
		want  []time.Duration
	}{
		{"quick", 200 * time.Millisecond, []time.Duration{0, 200, 200, 1200, 1200}},
		{"hangs", 10 * time.Second, []time.Duration{0, 1000, 2000, 3000, 4000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := newLaunchLimiter(2), time.Now()
				at := make(chan time.Duration, len(c.want))
				for i := range c.want {
					go func() {
						back, err := s.acquire(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						defer back()
						at <- time.Since(began)
						took := time.Second
						if i == 0 {
							took = c.first
						}
						time.Sleep(took)
					}()
					synctest.Wait()
				}
				for i, want := range c.want {
					if got := <-at; got != want*time.Millisecond {
						t.Errorf("start %d came after %v, want %v", i, got, want*time.Millisecond)
					}
				}
				time.Sleep(time.Minute)
			})
		})
	}
	t.Run("gives up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newLaunchLimiter(1)
			back, _ := s.acquire(t.Context())
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if _, err := s.acquire(ctx); err == nil {
				t.Error("a turn beside the first")
			}
			back()
			again, err := s.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			again()
		})
	})
}
