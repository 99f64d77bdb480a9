package main

import (
	"fmt"
	"slices"
	"time"
)

// runIsolation measures the levels of isolation beside each other, and beside pages that
// nobody cleans.
func runIsolation(b *bench, p *part) error {
	level := func(name string) kind {
		return kind{"troupe, --isolation " + name, func(b *bench, n int) (*side, error) {
			return startServiceWith(b, n, "--isolation", name)
		}}
	}
	kinds := []kind{level("task"), level("account"), level("none"), rawNever}
	if b.withPeers {
		kinds = append(kinds, puppeteerWarm)
	}
	cells := []cell{{works: []string{"W1", "W3"}, load: true}}
	groups, rounds, window := []group{{n: 1, kinds: kinds, cells: cells}, {n: 8, kinds: kinds, cells: cells}}, b.rounds, 2*time.Second
	r := &results{of: map[key]*result{}, memory: map[key]float64{}}
	p.say("%s", origin(b))
	for _, g := range groups {
		if err := g.measure(b, r, rounds, window); err != nil {
			return err
		}
	}
	for _, one := range r.of {
		slices.Sort(one.times)
	}
	p.say("Rounds: %d, %v each, back to back. %s", rounds, window, unitsOfTables)
	for _, g := range groups {
		p.say("### %s", clientsOf(g.n))
		p.add(g.table(r, true))
	}
	return nil
}

const unitsOfTables = "Times are in ms. CPU is processor time in ms a task, over the whole process tree and with the cleaning after the answer."

// table has a row for each workload on each side.
func (g group) table(r *results, load bool) table {
	t := table{head: []string{"", "side", "p50", "p95", "CPU", "own CPU", "per second", "p50 ratio", "CPU ratio"}}
	if !load {
		t.head[6] = "tasks"
	}
	for _, w := range g.all() {
		for i, row := range rows(r, g, w, load) {
			if i == 0 {
				row[0] = w.name
			}
			t.row(row...)
		}
	}
	return t
}

func clientsOf(n int) string {
	if n == 1 {
		return "One client"
	}
	return fmt.Sprintf("%d clients", n)
}
