package actors

import "time"

// Restarts says how long to wait before a browser that failed is started
// again. The wait doubles with each failure in a row up to Max; after Limit
// failures in a row the worker is given up for Slow at a time.
type Restarts struct {
	First time.Duration // 50 ms
	Max   time.Duration // 10 s
	Limit int           // 8
	Slow  time.Duration // 1 min
	// Stable is how long a browser must have lived for its end to be the first
	// failure again. One that has played a task counts as stable at once:
	// otherwise pages that end their browser would slow down the next task.
	Stable time.Duration // 10 s
}

func (r Restarts) withDefaults() Restarts {
	def(&r.First, 50*time.Millisecond)
	def(&r.Max, 10*time.Second)
	def(&r.Limit, 8)
	def(&r.Slow, time.Minute)
	def(&r.Stable, 10*time.Second)
	return r
}

// delay returns the wait after the n-th failure in a row, counted from 1, and
// whether the worker is given up for now.
func (r Restarts) delay(n int) (wait time.Duration, gaveUp bool) {
	if n > r.Limit {
		return r.Slow, true
	}
	d := r.First
	for i := 1; i < n && d < r.Max; i++ {
		d *= 2
	}
	return min(d, r.Max), false
}
