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
	groups, rounds, window := []group{{1, kinds, cells}, {8, kinds, cells}}, b.rounds, 2*time.Second
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
	p.say("Rounds: %d, %v each, back to back. Times are in ms. CPU is processor time in ms a task, over the whole process tree and with the cleaning after the answer.", rounds, window)
	for _, g := range groups {
		t := table{head: []string{"", "side", "p50", "p95", "CPU", "own CPU", "per second"}}
		for _, w := range works {
			first := true
			for _, row := range rows(r, g, w, true) {
				if first {
					row[0], first = w.name, false
				}
				t.row(row...)
			}
		}
		p.say("### %s", clientsOf(g.n))
		p.add(t)
	}
	return nil
}

func clientsOf(n int) string {
	if n == 1 {
		return "One client"
	}
	return fmt.Sprintf("%d clients", n)
}
