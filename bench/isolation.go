package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// runIsolation measures the levels of isolation beside each other, and beside pages that
// nobody cleans.
func runIsolation(b *bench, p *part) error {
	kinds := []kind{level("task"), level("account"), level("none"), rawKept, rawNever}
	if b.withPeers {
		kinds = append(kinds, puppeteerWarm)
	}
	if b.before != "" {
		kinds = append(kinds, olderBuild)
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
	p.say("### Aims of account")
	p.add(isolationAims(r))
	if b.before != "" {
		p.say("### Beside an older build")
		p.add(beforeIsolation(r))
	}
	return nil
}

// beforeIsolation compares with a build that knows no levels.
func beforeIsolation(r *results) table {
	a := aimTable{r: r, table: table{head: []string{"aim", "measured", rawKept.name, "verdict"}}}
	for _, w := range []string{"W1", "W3"} {
		before := a.of(olderBuild, w, 8, true).rate
		a.least(w+", 8 clients: account has 2.0 × the rate of before", a.of(level("account"), w, 8, true).rate/before, 2, a.of(rawKept, w, 8, true).rate/before)
	}
	for _, n := range []int{1, 8} {
		a.most(fmt.Sprintf("W1, %s: task has at most 0.9 × the processor time of before", strings.ToLower(clientsOf(n))), a.of(level("task"), "W1", n, true).cpu/a.of(olderBuild, "W1", n, true).cpu, 0.9, f2, math.NaN())
	}
	return a.table
}

// isolationAims compares contexts that are kept for an account with pages that nobody
// cleans. Beside it stands what the raw client reaches that clears them, too.
func isolationAims(r *results) table {
	a := aimTable{r: r, table: table{head: []string{"aim", "measured", rawKept.name, "verdict"}}}
	for _, w := range []string{"W1", "W3"} {
		kept, raw := a.of(level("account"), w, 8, true), a.of(rawKept, w, 8, true)
		warm, task := a.of(puppeteerWarm, w, 8, true), a.of(level("task"), w, 8, true)
		a.least(w+", 8 clients: the rate of warm pages", kept.rate/warm.rate, 1, raw.rate/warm.rate)
		a.least(w+", 8 clients: 2.0 × the rate of task", kept.rate/task.rate, 2, raw.rate/task.rate)
	}
	kept, raw, warm := a.of(level("account"), "W1", 1, true), a.of(rawKept, "W1", 1, true), a.of(puppeteerWarm, "W1", 1, true)
	a.most("W1, one client: p50 at most 0.64 × that of a warm page", kept.p50/warm.p50, 0.64, f2, raw.p50/warm.p50)
	return a.table
}

func level(name string) kind {
	return kind{"troupe, --isolation " + name, func(b *bench, n int) (*side, error) {
		return startServiceWith(b, n, "--isolation", name)
	}}
}

// maxKept is how much longer W3 may take in a context that is kept and cleared than with
// a client that clears nothing.
const maxKept = 1.45

// runPauses measures W3 with pauses in a context that is kept, start by start.
func runPauses(b *bench, p *part) error {
	w := works[slices.IndexFunc(works, func(w work) bool { return w.name == "W3" })]
	r, err := comparePair(b, w, rawNever, level("account"))
	if err != nil {
		return err
	}
	p.say("%s", origin(b))
	p.say("W3 on both sides with one worker each, one task right after the other and the first side changing, %d ms between two. Medians of each start, in ms.", pairIdle.Milliseconds())
	t := table{head: []string{"start", r.names[0], r.names[1], "ratio", "aim"}}
	each := len(r.times[0]) / len(r.starts)
	for n := range r.starts {
		var mid [2]float64
		for i := range mid {
			mid[i] = ms(at(slices.Sorted(slices.Values(r.times[i][n*each:(n+1)*each])), 50))
		}
		ratio := mid[1] / mid[0]
		t.row(fmt.Sprint(n+1), f1(mid[0]), f1(mid[1]), f2(ratio), verdict(ratio, maxKept, "at most %.2f ×"))
	}
	p.add(t)
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
