package main

import (
	"fmt"
	"slices"
	"time"
)

// pair is two sides that differ in one thing, with the time of each task of both:
// tasks with the same number were played one right after the other.
type pair struct {
	names [2]string
	times [2][]time.Duration
	own   [2]float64
}

// howPaired explains the table of a pair.
var howPaired = fmt.Sprintf("Each task is played on both, one right after the other and the first side changing, %d ms between two; half of them by browsers that were started the other way round. More is the median of the differences between the two of each pair, which what slows both down does not touch.", pairIdle.Milliseconds())

// pairIdle is enough for the cleaning after a task.
const pairIdle = 75 * time.Millisecond

// comparePair plays W1 on two sides in turn.
func comparePair(b *bench, first, second kind) (*pair, error) {
	r := &pair{names: [2]string{first.name, second.name}}
	halves, tasks := 4, 25
	if b.quick {
		halves, tasks = 1, 9
	}
	for half := range halves {
		order := []kind{first, second}
		if half%2 == 1 {
			slices.Reverse(order)
		}
		sides, err := startAll(b, order, 1)
		if err != nil {
			return nil, err
		}
		if half%2 == 1 {
			slices.Reverse(sides)
		}
		err = r.inTurn(b, sides, tasks)
		stopAll(sides)
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// inTurn plays one task on each side, first one side first and then the other.
func (r *pair) inTurn(b *bench, sides []*side, tasks int) error {
	const warm = 3
	var before [2]float64
	for n := range warm + tasks {
		if n == warm {
			before = [2]float64{cpuOf(sides[0].pid), cpuOf(sides[1].pid)}
		}
		for k := range 2 {
			i := (n + k) % 2
			took, err := sides[i].client(0).do(works[0], b.site)
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
	return nil
}

// more is by how many milliseconds the second side took longer.
func (r *pair) more() float64 {
	var list []time.Duration
	for i := range r.times[0] {
		list = append(list, r.times[1][i]-r.times[0][i])
	}
	slices.Sort(list)
	return ms(at(list, 50))
}

// table shows both sides, and whether what the second takes more is within the
// aim.
func (r *pair) table(aim func(more, first float64) string) table {
	t := table{head: []string{"side", "tasks", "p50", "p95", "own CPU", "more ms", "ratio", "aim"}}
	more := r.more()
	for i, name := range r.names {
		times := slices.Sorted(slices.Values(r.times[i]))
		row := []string{name, fmt.Sprint(len(times)), f2(ms(at(times, 50))), f1(ms(at(times, 95))), f2(r.own[i] / float64(len(times)))}
		if i == 1 {
			first := ms(at(slices.Sorted(slices.Values(r.times[0])), 50))
			row = append(row, f2(more), fmt.Sprintf("%.3f", 1+more/first), aim(more, first))
		}
		t.row(row...)
	}
	return t
}
