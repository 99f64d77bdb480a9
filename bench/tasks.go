package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// group is sides that are compared at one number of clients, with as many
// workers, tabs or pages each, and what they are compared in.
type group struct {
	n     int
	kinds []kind
	cells []cell
	works []work // nil: those of all
}

func (g group) all() []work {
	if g.works != nil {
		return g.works
	}
	return works
}

// cell is one workload on some sides of a group.
type cell struct {
	works []string
	load  bool
	sides []string // nil: all
	tasks int      // without load: tasks of each round
	most  int      // rounds that it takes part in; zero: all
}

var (
	three     = []kind{troupe, rawClean, rawNever}
	stock     = []kind{puppeteerWarm, playwrightWarm, puppeteerFresh, playwrightFresh}
	ours      = []kind{puppeteerWarmOurs, playwrightWarmOurs, puppeteerFreshOurs}
	simple    = []string{"W1", "W2", "W3", "W4", "W5"}
	composite = []string{"W6", "W7", "W8"}
)

// plan is what is measured: not every side in every workload at every number of
// clients, for that would take an hour. The document says what is left out.
func plan(peers bool) []group {
	with := func(more ...[]kind) []kind {
		if !peers {
			return three
		}
		return slices.Concat(append([][]kind{three}, more...)...)
	}
	warm := names(with(stock[:2]))
	main := names(three)
	return []group{
		{n: 1, kinds: with(stock, ours), cells: []cell{
			{works: simple, sides: main, tasks: 5},
			{works: simple, sides: names(with(stock)[3:]), tasks: 2},
			{works: []string{"W1", "W3", "W4"}, sides: names(with(ours)[3:]), tasks: 1},
			{works: composite, sides: warm, tasks: 1},
			{works: []string{"W1"}, load: true, sides: names(with(stock))},
		}},
		{n: 2, kinds: with(stock), cells: []cell{
			{works: []string{"W1"}, load: true},
			{works: []string{"W2", "W3", "W4", "W5"}, load: true, sides: main},
		}},
		{n: 4, kinds: with(stock), cells: []cell{
			{works: []string{"W1"}, load: true},
			{works: []string{"W2", "W3", "W4", "W5"}, load: true, sides: main},
		}},
		{n: 8, kinds: with(stock), cells: []cell{
			{works: simple, load: true},
			{works: composite, load: true, sides: warm, most: 2},
		}},
	}
}

// quickPlan is a look at everything, after a change.
func quickPlan(peers bool) []group {
	kinds := three
	if peers {
		kinds = append(slices.Clone(three), puppeteerWarm, playwrightFresh)
	}
	return []group{
		{n: 1, kinds: kinds, cells: []cell{
			{works: simple, sides: names(three), tasks: 2},
			{works: simple, sides: names(kinds[3:]), tasks: 1},
			{works: composite, sides: names(three), tasks: 1},
		}},
		{n: 4, kinds: kinds, cells: []cell{{works: []string{"W1"}, load: true}}},
	}
}

func names(kinds []kind) (all []string) {
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

// runTasks measures all workloads on all sides, round by round in turn.
func runTasks(b *bench, p *part) error {
	groups, rounds, window := plan(b.withPeers), b.rounds, 400*time.Millisecond
	if b.quick {
		groups, rounds, window = quickPlan(b.withPeers), 1, 500*time.Millisecond
	}
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
	p.appendix = &part{name: loadPart, show: p.show}
	reportTasks(b, p, groups, r, rounds, window)
	return nil
}

func (g group) measure(b *bench, r *results, rounds int, window time.Duration) error {
	sides, err := startAll(b, g.kinds, g.n)
	if err != nil {
		return err
	}
	defer func() { stopAll(sides) }()
	for round := range rounds + 1 { // the first one warms up, for which the simple ones do
		began := time.Now()
		for _, c := range g.cells {
			if c.most > 0 && round > c.most {
				continue
			}
			for _, w := range g.all() {
				if !slices.Contains(c.works, w.name) || round == 0 && slices.Contains(composite, w.name) {
					continue
				}
				for _, s := range sides {
					if c.sides != nil && !slices.Contains(c.sides, s.name) {
						continue
					}
					if err := c.block(b, s, w, g.n, round == 0, window, r); err != nil {
						return err
					}
				}
			}
		}
		fmt.Fprintf(os.Stderr, "%d at once, round %d of %d: %.0f s\n", g.n, round, rounds, time.Since(began).Seconds())
	}
	for _, s := range sides {
		k := key{side: s.name, n: g.n}
		r.memory[k] = memory(s.pid)
		if s.name == troupe.name {
			k.side = serviceProcess
			r.memory[k] = memoryOf(s.pid)
		}
	}
	return nil
}

// block is one round of one side. The warm-up plays each workload once on each
// worker and does not count.
func (c cell) block(b *bench, s *side, w work, n int, warm bool, window time.Duration, r *results) error {
	switch {
	case warm:
		return loadBlock(b, s, w, n, 0, &result{})
	case c.load:
		return loadBlock(b, s, w, n, window, r.get(key{s.name, w.name, n, true}))
	}
	return idleBlock(b, s, w, c.tasks, r.get(key{s.name, w.name, n, false}))
}

// serviceProcess is the service without its browsers, where memory is measured.
const serviceProcess = "troupe without its browsers"
