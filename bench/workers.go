package main

import (
	"fmt"
	"slices"
	"time"
)

// runWorkers measures full load with more and more workers, each with a browser of its own
// and several in one.
func runWorkers(b *bench, p *part) error {
	shared := kind{"troupe, four workers a browser", func(b *bench, n int) (*side, error) {
		return startServiceWith(b, n, "--workers-per-browser", "4", "--share-browsers-between-accounts")
	}}
	most, window := 16, 2*time.Second
	if b.quick {
		most, window = 4, 500*time.Millisecond
	}
	var groups []group
	for n := 1; n <= most; n *= 2 {
		kinds := []kind{troupe}
		if n >= 4 {
			kinds = append(kinds, shared)
		}
		groups = append(groups, group{n: n, kinds: kinds, cells: []cell{{works: []string{"W1", "W3"}, load: true}}})
	}
	r := &results{of: map[key]*result{}, memory: map[key]float64{}}
	p.say("%s", origin(b))
	for _, g := range groups {
		if err := g.measure(b, r, b.rounds, window); err != nil {
			return err
		}
	}
	for _, one := range r.of {
		slices.Sort(one.times)
	}
	p.say("As many clients as workers. Rounds: %d, %v each, back to back. %s Memory is PSS of the whole process tree.", b.rounds, window, unitsOfTables)
	for _, name := range []string{"W1", "W3"} {
		t := table{head: []string{"workers", "side", "p50", "p95", "CPU", "own CPU", "per second", "memory MB"}}
		for _, g := range groups {
			for _, k := range g.kinds {
				one := r.of[key{k.name, name, g.n, true}]
				t.row(fmt.Sprint(g.n), k.name, f1(one.p(50)), f1(one.p(95)), f0(one.each()), f1(one.ownEach()), f1(one.rate()), f0(r.memory[key{side: k.name, n: g.n}]))
			}
		}
		p.say("### %s at full load, by number of workers", name)
		p.add(t)
	}
	return nil
}
