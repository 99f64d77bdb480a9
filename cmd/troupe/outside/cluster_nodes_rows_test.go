package outside_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/networks"
)

// level says in which runs a row is tried.
type level int

const (
	short level = iota // in each: seconds together
	quick              // in a run of under a minute
	whole
)

var levels = map[string]level{"short": short, "quick": quick, "whole": whole}

// chapter is a part of what a cluster promises. The table has them in this order.
type chapter int

const (
	answering chapter = iota
	losing
	sessions
	counts
	electing
	moving
	cutting
)

// row is a promise of a cluster and what shows it. It finds all nodes running, has
// its nodes frozen, killed or cut off, and need not bring them back.
type row struct {
	chapter chapter
	name    string
	level   level
	try     func(g *testCluster)
}

var rowsOfCluster []row

// promise adds a row. Call it where the row is:
//
//	var _ = promise(losing, "a node is killed", quick, func(g *testCluster) { … })
func promise(c chapter, name string, l level, try func(g *testCluster)) struct{} {
	rowsOfCluster = append(rowsOfCluster, row{c, name, l, try})
	return struct{}{}
}

// ledger is what rows have measured.
type ledger struct {
	order []string
	of    map[string]*measure
}

type measure struct {
	row, what string
	limit     time.Duration // zero: there is none
	took      []time.Duration
}

func (f *ledger) add(row, what string, limit, took time.Duration) {
	if f.of == nil {
		f.of = map[string]*measure{}
	}
	one := f.of[row+what]
	if one == nil {
		one = &measure{row: row, what: what, limit: limit}
		f.of[row+what] = one
		f.order = append(f.order, row+what)
	}
	one.took = append(one.took, took)
}

// within fails the test if something took longer than it may, and tells how long
// it took. A limit of zero is none. The few rows of the ordinary suite, which runs
// beside much else, only tell.
func (g *testCluster) within(what string, limit, took time.Duration) {
	g.t.Helper()
	g.told.add(g.row(), what, limit, took)
	g.t.Logf("%s: after %v", what, took.Round(time.Millisecond))
	if limit > 0 && took > limit && levels[*rowsFlag] > short {
		g.t.Errorf("%s: after %v, want at most %v", what, took.Round(time.Millisecond), limit)
	}
}

// row is the name of what is being tried.
func (g *testCluster) row() string {
	_, name, _ := strings.Cut(g.t.Name(), "/")
	name, _, _ = strings.Cut(name, "#") // it was tried before
	return strings.ReplaceAll(name, "_", " ")
}

// String is the table of all.
func (f *ledger) String() string {
	var b strings.Builder
	b.WriteString("\n| what happens | what is promised | within | measured | times |\n|---|---|---|---|---|\n")
	for _, key := range f.order {
		one := f.of[key]
		limit := "–"
		if one.limit > 0 {
			limit = one.limit.String()
		}
		least, most := slices.Min(one.took), slices.Max(one.took)
		span := fmt.Sprintf("%.2f s", most.Seconds())
		if len(one.took) > 1 {
			span = fmt.Sprintf("%.2f to %.2f s", least.Seconds(), most.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", one.row, one.what, limit, span, len(one.took))
	}
	return b.String()
}

var (
	rounds   = flag.Int("rounds", 1, "how often TestThreeNodes tries each row")
	rowsFlag = flag.String("rows", "short", "the rows that TestThreeNodes tries: short, quick (under a minute) or whole")
)

// TestThreeNodes: three processes with a browser each are one service, and keep
// what a cluster promises when nodes come and go. Each row has its own test; the
// table at the end has what they measured.
func TestThreeNodes(t *testing.T) {
	need.All(t)
	most, known := levels[*rowsFlag]
	if !known {
		t.Fatalf("-rows %q is unknown: want short, quick or whole", *rowsFlag)
	}
	var w *networks.Networks
	workers := []int{0, 1, 1} // seconds count, and so does memory
	if most > short {
		w, workers = networks.New(t), []int{1, 1, 1}
	}
	second := other(t)
	began := time.Now()
	g := startTestCluster(t, w, second, workers...)
	t.Logf("three nodes are ready after %v", time.Since(began).Round(time.Millisecond))
	rows := slices.Clone(rowsOfCluster)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.chapter, b.chapter) })
	for range *rounds {
		for _, r := range rows {
			if r.level > most {
				continue
			}
			t.Run(r.name, func(t *testing.T) {
				g.t = t
				defer func() { g.t = g.home }()
				defer func() {
					if t.Failed() { // what it has left must not fail the next one
						g.anew()
					}
				}()
				g.whole()
				r.try(g)
				g.once()
			})
		}
	}
	t.Logf("they have ended after %v", g.end().Round(time.Millisecond))
	t.Log(g.told)
}
