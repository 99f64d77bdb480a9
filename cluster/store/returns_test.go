package store

import (
	"testing"
	"time"
)

// TestAbsence: when the log of a stream is shortened. Often at first, seldom for a node that is
// away for long, for a while when it is back, and never while all copies are there.
func TestAbsence(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	var a absence
	run := func(d time.Duration, away, behind bool) (times int) {
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			var shorten bool
			if a, shorten = a.step(away, behind, now); shorten {
				times++
			}
		}
		return times
	}
	for _, c := range []struct {
		what         string
		lasts        time.Duration
		away, behind bool
		least, most  int
	}{
		{"all are there, and one misses changes for a moment", time.Hour, false, true, 0, 0},
		{"one is away", 30 * time.Second, true, true, 14, 16},
		{"it is back and misses changes", 10 * time.Second, false, true, 4, 6},
		{"it has them", time.Hour, false, false, 0, 0},
		{"it misses some for a moment", time.Minute, false, true, 0, 0},
		{"one is away for an hour", time.Hour, true, true, 85, 95},
		{"it is back and never has them", time.Hour, false, true, 6, 9},
	} {
		if n := run(c.lasts, c.away, c.behind); n < c.least || n > c.most {
			t.Errorf("%s: %d times, want %d to %d", c.what, n, c.least, c.most)
		}
	}
}
