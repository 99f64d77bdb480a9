package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// key names one thing that was measured.
type key struct {
	side string
	work string
	n    int  // clients at the same time
	load bool // back to back, or with idle time between
}

// result is what one side did of one workload in all rounds.
type result struct {
	times []time.Duration // in order, once it is complete
	cpu   float64         // ms of the whole process tree, cleaning included
	own   float64         // ms of the server's process alone, without its browsers
	lasts time.Duration
}

func (r *result) p(percent int) float64 { return ms(at(r.times, percent)) }
func (r *result) each() float64         { return r.cpu / float64(len(r.times)) }
func (r *result) ownEach() float64      { return r.own / float64(len(r.times)) }
func (r *result) rate() float64         { return float64(len(r.times)) / r.lasts.Seconds() }

// results are all that a run has measured.
type results struct {
	of     map[key]*result
	memory map[key]float64 // MB; work and load are empty
}

func (r *results) get(k key) *result {
	if r.of[k] == nil {
		r.of[k] = &result{}
	}
	return r.of[k]
}

// settles is how long a side gets to end what goes on after its answers, before
// its processor time is read. No cleaning takes as long.
const settles = 150 * time.Millisecond

// idleBlock sends some tasks as real clients do: with time between them.
func idleBlock(b *bench, s *side, w work, tasks int, r *result) error {
	c := s.client(0)
	before, own := cpu(s.pid), cpuOf(s.pid)
	for range tasks {
		took, err := c.do(w, b.site)
		if err != nil {
			return fmt.Errorf("%s, %w", s.name, err)
		}
		r.times = append(r.times, took)
		time.Sleep(b.idle)
	}
	r.cpu += cpu(s.pid) - before
	r.own += cpuOf(s.pid) - own
	return nil
}

// loadBlock lets n clients send one task after the other for a while.
func loadBlock(b *bench, s *side, w work, n int, window time.Duration, r *result) error {
	errs := make([]error, n)
	took := make([][]time.Duration, n)
	before, own, start := cpu(s.pid), cpuOf(s.pid), time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			c := s.client(i)
			for first := true; first || time.Since(start) < window; first = false {
				t, err := c.do(w, b.site)
				if err != nil {
					errs[i] = fmt.Errorf("%s, %d at once, %w", s.name, n, err)
					return
				}
				took[i] = append(took[i], t)
			}
		})
	}
	all.Wait()
	r.lasts += time.Since(start)
	time.Sleep(settles)
	r.cpu += cpu(s.pid) - before
	r.own += cpuOf(s.pid) - own
	r.times = append(r.times, slices.Concat(took...)...)
	return errors.Join(errs...)
}

// at is a percentile of sorted times.
func at(t []time.Duration, p int) time.Duration { return t[min(len(t)-1, len(t)*p/100)] }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
