package persistence

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestShares: what a node takes of a day, and gives back.
func TestShares(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		held    int64
		recent  float64
		ago     time.Duration
		waiting int64
		day     day
		want    int64
	}{
		"nobody asks for anything":                      {day: day{0, 1000, 3}},
		"the first task takes some more":                {waiting: 1, day: day{0, 1000, 3}, want: 1 + leaseFirst + leaseAhead},
		"as much as is used in more than half a minute": {recent: 100, day: day{0, 10_000, 3}, want: leaseFirst + 4*100},
		"three quarters of it are enough":               {held: 310, recent: 100, day: day{1000, 10_000, 3}},
		"less is not":                                   {held: 300, recent: 100, day: day{1000, 10_000, 3}, want: 108},
		"more goes back":                                {held: 900, recent: 100, day: day{1000, 10_000, 3}, want: 408 - 900},
		"little of what is little":                      {waiting: 1, day: day{40, 50, 3}, want: 2},
		"one by one at the end":                         {waiting: 1, day: day{45, 50, 3}, want: 1},
		"what waits goes before what is fair":           {waiting: 5, day: day{45, 50, 3}, want: 5},
		"nothing is left":                               {waiting: 1, day: day{50, 50, 3}},
		"at the end all goes back that nobody uses":     {held: 5, recent: 100, day: day{50, 50, 3}, want: -5},
		"and most of what a busy node holds":            {held: 60, recent: 100, day: day{1000, 1000, 3}, want: 10 - 60},
		"what nobody has used for a minute":             {held: 8, recent: 1, ago: time.Minute, day: day{8, 1000, 3}, want: -8},
		"the limit has been lowered":                    {held: 8, recent: 8, day: day{900, 500, 3}, want: -8},
		"the limit has been lowered, and a task asks":   {waiting: 1, recent: 8, day: day{900, 500, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := quotaLease{held: c.held, recent: c.recent, at: now.Add(-c.ago)}
			if got := s.change(now, c.waiting, c.day); got != c.want {
				t.Errorf("the change is %d, want %d", got, c.want)
			}
		})
	}
}

// TestSharesSettle: whatever a share is, what it takes is there, what it gives
// back it has, and after one change it needs no other.
func TestSharesSettle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	now := time.Now()
	for range 200_000 {
		s := quotaLease{held: rng.Int64N(400), at: now.Add(-time.Duration(rng.Int64N(int64(2 * time.Minute))))}
		if rng.IntN(3) > 0 {
			s.recent = rng.ExpFloat64() * 50
		}
		d := day{limit: 1 + rng.Int64N(1000), nodes: 1 + rng.IntN(6)}
		d.total = s.held + rng.Int64N(d.limit+100)
		waiting := int64(0)
		if rng.IntN(2) == 0 {
			waiting = rng.Int64N(50)
		}
		before, n := s, s.change(now, waiting, d)
		switch {
		case n > max(d.limit-d.total, 0):
			t.Fatalf("%+v takes %d, with %d waiting, of %+v", before, n, waiting, d)
		case -n > s.held:
			t.Fatalf("%+v gives back %d, with %d waiting, of %+v", before, -n, waiting, d)
		case waiting > s.held && d.total < d.limit && n <= 0:
			t.Fatalf("%+v takes nothing, with %d waiting, of %+v", before, waiting, d)
		}
		s.held, d.total = s.held+n, d.total+n
		if served := min(waiting, s.held); d.total <= d.limit {
			s.held, waiting = s.held-served, waiting-served
			s.recent, s.at = s.lately(now)+float64(served), now
		}
		if again := s.change(now, waiting, d); again != 0 && d.total <= d.limit {
			// What was used meanwhile may call for a little more, once.
			s.held, d.total = s.held+again, d.total+again
			if third := s.change(now, waiting, d); third != 0 {
				t.Fatalf("%+v changes by %d, %d, %d without end, with %d waiting, of %+v", before, n, again, third, waiting, d)
			}
		}
	}
}
