package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// pair is two sides that differ in one thing, with the time of each task of both.
type pair struct {
	names  [2]string
	times  [2][]time.Duration
	own    [2]float64
	starts []float64 // of each start of both: how many ms the second side took longer
}

// howPaired explains the table of a pair.
var howPaired = fmt.Sprintf("Each task runs on both sides, one right after the other and the first side changing, %d ms between two. Browsers differ from start to start by more than the difference in question. So there are many starts, half of them the other way round. Of each start counts the median of the second side's extra time, over two tasks at a time, one begun on either side. More is the mean of these medians, with its standard error.", pairIdle.Milliseconds())

// pairIdle is enough for the cleaning after a task.
const pairIdle = 75 * time.Millisecond

// comparePair plays a workload on two sides in turn.
func comparePair(b *bench, w work, first, second kind) (*pair, error) {
	r := &pair{names: [2]string{first.name, second.name}}
	starts, tasks := b.starts, 12
	if b.quick {
		starts, tasks = 1, 10
	}
	for n := range starts {
		order := []kind{first, second}
		if n%2 == 1 {
			slices.Reverse(order)
		}
		sides, err := startAll(b, order, 1)
		if err != nil {
			return nil, err
		}
		if n%2 == 1 {
			slices.Reverse(sides)
		}
		err = r.inTurn(b, w, sides, tasks)
		stopAll(sides)
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// inTurn plays one task on each side, first one side first and then the other.
func (r *pair) inTurn(b *bench, w work, sides []*side, tasks int) error {
	const warm = 3
	var before [2]float64
	began := len(r.times[0])
	for n := range warm + tasks {
		if n == warm {
			before = [2]float64{cpuOf(sides[0].pid), cpuOf(sides[1].pid)}
		}
		for k := range 2 {
			i := (n + k) % 2
			took, err := sides[i].client(0).do(w, b.site)
			if err != nil {
				return fmt.Errorf("%s, %w", sides[i].name, err)
			}
			if n >= warm {
				r.times[i] = append(r.times[i], took)
			}
			time.Sleep(pairIdle)
		}
	}
	for i, s := range sides {
		r.own[i] += cpuOf(s.pid) - before[i]
	}
	r.starts = append(r.starts, between(r.times[0][began:], r.times[1][began:]))
	return nil
}

// between is by how many milliseconds the second side took longer for tasks that
// were played in turn: the median over two tasks each, of which one began with the
// first side and one with the second.
func between(first, second []time.Duration) float64 {
	var more []float64
	for i := 0; i+1 < len(first); i += 2 {
		more = append(more, ms(second[i]+second[i+1]-first[i]-first[i+1])/2)
	}
	slices.Sort(more)
	n := len(more)
	return (more[(n-1)/2] + more[n/2]) / 2
}

// more is by how many milliseconds the second side took longer, and how far that
// may be from the truth: the standard error of the mean over all starts, unknown
// (NaN) with a single one.
func (r *pair) more() (mean, off float64) {
	n := float64(len(r.starts))
	for _, v := range r.starts {
		mean += v / n
	}
	for _, v := range r.starts {
		off += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(off / (n - 1) / n)
}

// table shows both sides, and whether what the second takes more is within the
// aim.
func (r *pair) table(aim func(more, first float64) string) table {
	t := table{head: []string{"side", "tasks", "p50", "p95", "own CPU", "more ms", "±", "ratio", "aim"}}
	more, off := r.more()
	for i, name := range r.names {
		times := slices.Sorted(slices.Values(r.times[i]))
		row := []string{name, fmt.Sprint(len(times)), f2(ms(at(times, 50))), f1(ms(at(times, 95))), f2(r.own[i] / float64(len(times)))}
		if i == 1 {
			first := ms(at(slices.Sorted(slices.Values(r.times[0])), 50))
			exact := f2(off)
			if math.IsNaN(off) {
				exact = ""
			}
			row = append(row, f2(more), exact, fmt.Sprintf("%.3f", 1+more/first), aim(more, first))
		}
		t.row(row...)
	}
	return t
}
