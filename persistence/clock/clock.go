// Package clock waits for stored times: those that the wall clock is to show, whatever is
// done to it meanwhile.
//
// Go's timers count how long the process runs. A wall clock goes on while a machine sleeps,
// and is set forward and back. So a wait for a stored time looks at the clock again every
// [Look]. How long something takes, or has lasted, needs none of this.
package clock

import (
	"sync/atomic"
	"time"
)

// Look is how long nobody looks at the wall clock while a stored time is waited for. What
// is promised for changes of the clock is three times as long.
const Look = 5 * time.Second

// Clock is a wall clock, and has the waits for its times. The zero value is that of the
// machine, and so is nil, with a list for each wait: who has many gives them one clock.
type Clock struct {
	ahead atomic.Int64 // of the machine's: for tests
	waits waits
}

// Set lets the clock be ahead of the machine's, as if somebody had set it. Timers do not
// notice, as with a real one.
func (c *Clock) Set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// Now is what the clock shows. How long something takes cannot be measured with it.
func (c *Clock) Now() time.Time { return c.At(time.Now()) }

// At is what the clock shows at a time that [time.Now] gave.
func (c *Clock) At(t time.Time) time.Time {
	t = t.Round(0) // without the reading of the clock that nobody can set
	if c != nil {
		t = t.Add(time.Duration(c.ahead.Load()))
	}
	return t
}

// Due is a time that is waited for. The zero value has come.
type Due struct {
	wall    time.Time // that the wall clock is to show
	process time.Time // of the clock that nobody can set; zero: only the wall clock counts
}

// Stored is a time that the wall clock is to show: that of a calendar, or one that an
// earlier process has written.
func (c *Clock) Stored(t time.Time) Due { return Due{wall: t.Round(0)} }

// After is so long after now, which is of [time.Now]. The first of the two clocks counts: a
// pause is over when a machine has slept for as long, and also where the wall clock was set
// back meanwhile.
func (c *Clock) After(now time.Time, d time.Duration) Due {
	return Due{wall: c.At(now).Add(d), process: now.Add(d)}
}

// Within is a stored time that comes no later than so long after now, which is of
// [time.Now], whatever the wall clock shows.
func (c *Clock) Within(t, now time.Time, most time.Duration) Due {
	return Due{wall: t.Round(0), process: now.Add(most)}
}

// Came reports whether a time has come. Now is of [time.Now].
func (c *Clock) Came(d Due, now time.Time) bool { return c.Left(d, now) <= 0 }

// Left is how long it is until a time; not positive: it has come.
func (c *Clock) Left(d Due, now time.Time) time.Duration {
	left := d.wall.Sub(c.At(now))
	if !d.process.IsZero() {
		left = min(left, d.process.Sub(now))
	}
	return left
}

// Soon shortens a wait so that the clock is looked at again in time.
func Soon(d time.Duration) time.Duration { return max(min(d, Look), 0) }
