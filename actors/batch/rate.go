package batch

import "time"

// rate counts what ended in each second of the last minute.
type rate struct {
	seconds [60]int
	last    int64 // the second of the newest count
	first   time.Time
}

func (r *rate) to(now time.Time) {
	at := now.Unix()
	if r.first.IsZero() {
		r.first, r.last = now, at
	}
	for r.last = max(r.last, at-int64(len(r.seconds))); r.last < at; {
		r.last++
		r.seconds[r.last%int64(len(r.seconds))] = 0
	}
}

func (r *rate) count(now time.Time) {
	r.to(now)
	r.seconds[r.last%int64(len(r.seconds))]++
}

// perMinute is how many ended in the last minute, or would have at the rate since the
// first.
func (r *rate) perMinute(now time.Time) float64 {
	if r.first.IsZero() {
		return 0
	}
	r.to(now)
	n := 0
	for _, c := range r.seconds {
		n += c
	}
	span := min(max(now.Sub(r.first), time.Second), time.Minute)
	return float64(n) * float64(time.Minute) / float64(span)
}
