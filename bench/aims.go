package main

import (
	"fmt"
	"math"
)

// aims compares what was measured with what was aimed at. What a run left out
// is left out here. Beside the service stands what the raw client that cleans,
// too, reaches of the same: what it misses is the price of a clean browser, and
// the rest is the service's own.
func aims(r *results) table {
	a := aimTable{r: r, table: table{head: []string{"aim", "measured", "raw, cleaned", "verdict"}}}
	for _, w := range simple {
		us, raw := a.of(troupe, w, 1, false), a.of(rawClean, w, 1, false)
		a.most(w+": p50 at most 1.15 × raw", us.p50/raw.p50, 1.15, f2, 1)
		a.most(w+": CPU at most 1.15 × raw", us.cpu/raw.cpu, 1.15, f2, 1)
	}
	for _, w := range []struct {
		name  string
		times float64
	}{{"W1", 2.2}, {"W2", 1.8}, {"W3", 2.5}, {"W4", 1}, {"W5", 1.5}} {
		us, raw := a.of(troupe, w.name, 1, false), a.of(rawClean, w.name, 1, false)
		best := min(a.of(puppeteerWarm, w.name, 1, false).p50, a.of(playwrightWarm, w.name, 1, false).p50)
		a.least(fmt.Sprintf("%s: p50 %.1f × faster than warm pages", w.name, w.times), best/us.p50, w.times, best/raw.p50)
	}
	for _, w := range simple {
		us, raw, never := a.of(troupe, w, 1, false), a.of(rawClean, w, 1, false), a.of(rawNever, w, 1, false)
		a.most(w+": p50 at most 5 ms above raw, never cleaned", us.p50-never.p50, 5, func(v float64) string { return fmt.Sprintf("%.1f ms", v) }, raw.p50-never.p50)
		best := min(a.of(puppeteerFresh, w, 1, false).p50, a.of(playwrightFresh, w, 1, false).p50)
		a.least(w+": p50 5.0 × faster than fresh contexts", best/us.p50, 5, best/raw.p50)
	}
	for _, n := range []int{1, 2, 4, 8} {
		for _, w := range simple {
			us, raw := a.of(troupe, w, n, true), a.of(rawClean, w, n, true)
			best := max(a.of(puppeteerFresh, w, n, true).rate, a.of(playwrightFresh, w, n, true).rate)
			a.least(fmt.Sprintf("%s, load from %d: 1.5 × the rate of fresh contexts", w, n), us.rate/best, 1.5, raw.rate/best)
		}
	}
	return a.table
}

type aimTable struct {
	r *results
	table
}

// figures are not numbers where nothing was measured.
type figures struct{ p50, cpu, rate float64 }

func (a *aimTable) of(k kind, work string, n int, load bool) figures {
	one := a.r.of[key{k.name, work, n, load}]
	if one == nil {
		return figures{math.NaN(), math.NaN(), math.NaN()}
	}
	return figures{one.p(50), one.each(), one.rate()}
}

// most is an aim that is met by what is small enough. Beside it may stand what
// another side reaches.
func (a *aimTable) most(aim string, got, limit float64, spell func(float64) string, beside ...float64) {
	verdict := "met"
	if got > limit {
		verdict = "missed by " + spell(got-limit)
	}
	a.add(aim, got, spell, verdict, beside)
}

// least is an aim that is met by being so many times better.
func (a *aimTable) least(aim string, got, times float64, beside ...float64) {
	verdict := "met"
	if got < times {
		verdict = fmt.Sprintf("missed by %.0f %%", 100*(1-got/times))
	}
	a.add(aim, got, func(v float64) string { return f2(v) + " ×" }, verdict, beside)
}

func (a *aimTable) add(aim string, got float64, spell func(float64) string, verdict string, beside []float64) {
	if !known(got) {
		return
	}
	row := []string{aim, spell(got)}
	for _, v := range beside {
		if known(v) {
			row = append(row, spell(v))
		} else {
			row = append(row, "")
		}
	}
	a.row(append(row, verdict)...)
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
