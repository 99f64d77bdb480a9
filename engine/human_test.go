package engine

import (
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"troupe/engine/browser"
)

const viewW, viewH = 1280.0, 720.0

// ways calls f with points all over the view, its corners among them.
func ways(f func(from, to browser.Point, seed uint64)) {
	rng := mathrand.New(mathrand.NewPCG(1, 2))
	corners := []browser.Point{{X: 0, Y: 0}, {X: viewW - 1, Y: viewH - 1}, {X: 0, Y: viewH - 1}, {X: viewW - 1, Y: 0}}
	point := func(i int) browser.Point {
		if i%5 == 0 {
			return corners[i/5%len(corners)]
		}
		return browser.Point{X: rng.Float64() * (viewW - 1), Y: rng.Float64() * (viewH - 1)}
	}
	for i := range 400 {
		f(point(i), point(i+3), rng.Uint64())
	}
}

func TestAHandStaysInViewAndArrives(t *testing.T) {
	ways(func(from, to browser.Point, seed uint64) {
		path := handPath(from, to, seed, viewW, viewH)
		for _, m := range path {
			if m.X < 0 || m.Y < 0 || m.X > viewW-1 || m.Y > viewH-1 || math.IsNaN(m.X) || math.IsNaN(m.Y) {
				t.Fatalf("from %v to %v with %d: %v is out of view", from, to, seed, m.Point)
			}
			if m.Pause <= 0 || m.Pause > 100*time.Millisecond {
				t.Fatalf("from %v to %v with %d: a pause of %s", from, to, seed, m.Pause)
			}
		}
		if last := path[len(path)-1].Point; last != to {
			t.Fatalf("from %v to %v with %d: it ends at %v", from, to, seed, last)
		}
	})
}

func TestAHandTakesTheSameWayForTheSameSeedOnly(t *testing.T) {
	ways(func(from, to browser.Point, seed uint64) {
		a, again, other := handPath(from, to, seed, viewW, viewH), handPath(from, to, seed, viewW, viewH), handPath(from, to, seed+1, viewW, viewH)
		if !slices.Equal(a, again) {
			t.Fatalf("two ways for the seed %d", seed)
		}
		if slices.Equal(a, other) {
			t.Fatalf("the same way for the seeds %d and %d", seed, seed+1)
		}
	})
}

func TestAHandMovesInACurve(t *testing.T) {
	ways(func(from, to browser.Point, seed uint64) {
		d := math.Hypot(to.X-from.X, to.Y-from.Y)
		if d < 200 {
			return
		}
		// The edge of the view may flatten a way that runs along it.
		edge := func(p browser.Point) bool { return p.X < 60 || p.Y < 60 || p.X > viewW-60 || p.Y > viewH-60 }
		if edge(from) || edge(to) {
			return
		}
		most := 0.0
		for _, m := range handPath(from, to, seed, viewW, viewH) {
			most = math.Max(most, math.Abs((to.X-from.X)*(from.Y-m.Y)-(from.X-m.X)*(to.Y-from.Y))/d)
		}
		if most < d*0.02 {
			t.Fatalf("from %v to %v with %d: only %.1f pixels beside the straight way of %.0f", from, to, seed, most, d)
		}
	})
}

func TestAHandIsSlowAtBothEnds(t *testing.T) {
	from, to := browser.Point{X: 50, Y: 50}, browser.Point{X: 1200, Y: 650}
	for seed := range uint64(50) {
		path := handPath(from, to, seed, viewW, viewH)
		step := func(i int) float64 {
			return math.Hypot(path[i].X-path[i-1].X, path[i].Y-path[i-1].Y)
		}
		n := len(path)
		if n < 20 {
			t.Fatalf("only %d moves for a long way", n)
		}
		if middle := step(n / 2); step(1) > middle/2 || step(n-1) > middle/2 {
			t.Fatalf("seed %d: steps of %.1f, %.1f and %.1f at begin, middle and end", seed, step(1), middle, step(n-1))
		}
	}
}

func TestALongerWayTakesLonger(t *testing.T) {
	total := func(to browser.Point) (sum time.Duration) {
		for seed := range uint64(20) {
			for _, m := range handPath(browser.Point{X: 10, Y: 10}, to, seed, viewW, viewH) {
				sum += m.Pause
			}
		}
		return sum
	}
	if short, long := total(browser.Point{X: 40, Y: 20}), total(browser.Point{X: 1200, Y: 600}); short >= long {
		t.Errorf("20 short ways take %s, 20 long ones %s", short, long)
	}
}

func TestNoWayAtAll(t *testing.T) {
	p := browser.Point{X: 5, Y: 5}
	for _, m := range handPath(p, p, 1, viewW, viewH) {
		if math.Hypot(m.X-p.X, m.Y-p.Y) > 1e-9 {
			t.Errorf("it moves to %v", m.Point)
		}
	}
}

func TestCloserIsOnTheWayAndNear(t *testing.T) {
	ways(func(from, to browser.Point, seed uint64) {
		near := closer(from, to, seed, viewW, viewH)
		d, whole := math.Hypot(near.X-to.X, near.Y-to.Y), math.Hypot(from.X-to.X, from.Y-to.Y)
		if d > 120.001 || d > whole+0.001 {
			t.Fatalf("from %v to %v: %v is %.0f pixels away", from, to, near, d)
		}
	})
}
