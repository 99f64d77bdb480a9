package engine

import (
	"context"
	"math"
	mathrand "math/rand/v2"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var modeOpt = opt("mode", lang.EnumShape("a mode", "fast"), "`fast`: start the pointer closer to its target.")

var _ = define(Action[lang.Selector]{
	Name: "clickHuman", Group: "Advanced",
	Doc:     "Moves the pointer to an element on a curved path with changing speed, as a hand does, and clicks it. The events are the browser's own.",
	Value:   lang.SelectorShape,
	Opts:    []Opt{modeOpt},
	Example: `{"clickHuman":"#next","options":{"mode":"fast"}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		fast := own(s, "mode", "") == "fast"
		return nil, r.pointer.clickAt(ctx, s, v, browser.Clicking{}, func(again bool) (p spot, err error) {
			if p, err = r.pointer.aim(ctx, s, "point", v, map[string]any{"force": true, "follow": true, "again": again}); err != nil || p.Covered != "" {
				return p, err
			}
			if err = r.pointer.moveLikeHand(ctx, p.Point, fast); err != nil {
				return p, err
			}
			// Hovering may have moved it: the click goes where it is now.
			r.page.input = sentAct
			var at spot
			if at, err = r.pointer.aim(ctx, s, "point", v, map[string]any{"force": true, "guard": true, "again": true}); err != nil || at.Covered == "" {
				p = at
			}
			return p, err
		}, func(in *browser.Input, ctx context.Context, p browser.Point) error {
			return in.PressAndHold(ctx, p, time.Duration(40+mathrand.IntN(60))*time.Millisecond)
		})
	},
})

var _ = define(Action[lang.Selector]{
	Name: "hoverHuman", Group: "Advanced",
	Doc:     "Moves the pointer over an element on a curved path with changing speed, without clicking.",
	Value:   lang.SelectorShape,
	Opts:    []Opt{modeOpt},
	Example: `{"hoverHuman":"a.link"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		p, err := r.pointer.hoverSpot(ctx, s, v)
		if err != nil {
			return nil, err
		}
		r.page.input = sentAct
		return nil, r.pointer.moveLikeHand(ctx, p.Point, own(s, "mode", "") == "fast")
	},
})

// move is one place of the pointer and how long it stays there.
type move struct {
	browser.Point
	Pause time.Duration
}

// closer is a start for a short way: 60 to 120 pixels from the target.
func closer(from, to browser.Point, seed uint64, w, h float64) browser.Point {
	rng := mathrand.New(mathrand.NewPCG(seed, 1))
	d := math.Hypot(from.X-to.X, from.Y-to.Y)
	near := 60 + 60*rng.Float64()
	if d <= near {
		return from
	}
	return clamp(browser.Point{X: to.X + (from.X-to.X)*near/d, Y: to.Y + (from.Y-to.Y)*near/d}, w, h)
}

// handPath is the way of a hand from one point to another: a curve with two
// bends, slow at both ends, with a tremor that dies away at the target. It is a
// pure function of the two points, the seed and the size of the view, and never
// leaves the view.
func handPath(from, to browser.Point, seed uint64, w, h float64) []move {
	rng := mathrand.New(mathrand.NewPCG(seed, 0x7472_6f75_7065))
	d := math.Hypot(to.X-from.X, to.Y-from.Y)
	// Fitts: time grows with the logarithm of the distance.
	total := time.Duration((90 + 70*math.Log2(d/12+1)) * (0.85 + 0.3*rng.Float64()) * float64(time.Millisecond))
	n := max(6, int(total/(12*time.Millisecond)))
	// The bends lie beside the straight way, mostly on one side of it.
	nx, ny := 0.0, 0.0
	if d > 0 {
		nx, ny = -(to.Y-from.Y)/d, (to.X-from.X)/d
	}
	side := 1.0
	if rng.IntN(2) == 0 {
		side = -1
	}
	bend := func(at, spread float64) browser.Point {
		off := side * d * (0.06 + spread*rng.Float64())
		return browser.Point{X: from.X + (to.X-from.X)*at + nx*off, Y: from.Y + (to.Y-from.Y)*at + ny*off}
	}
	c1, c2 := bend(0.2+0.15*rng.Float64(), 0.16), bend(0.6+0.2*rng.Float64(), 0.1)
	path := make([]move, 0, n)
	for i := 1; i <= n; i++ {
		u := float64(i) / float64(n)
		s := u * u * u * (10 - 15*u + 6*u*u) // least jerk
		p := browser.Point{X: bezier(from.X, c1.X, c2.X, to.X, s), Y: bezier(from.Y, c1.Y, c2.Y, to.Y, s)}
		if i < n {
			tremor := math.Min(1.2, d/80) * (1 - s)
			p.X += rng.NormFloat64() * tremor
			p.Y += rng.NormFloat64() * tremor
			p = clamp(p, w, h)
		} else {
			p = to
		}
		pause := float64(total) / float64(n) * (0.7 + 0.6*rng.Float64())
		path = append(path, move{p, time.Duration(pause)})
	}
	return path
}

func bezier(a, b, c, d, t float64) float64 {
	u := 1 - t
	return u*u*u*a + 3*u*u*t*b + 3*u*t*t*c + t*t*t*d
}

func clamp(p browser.Point, w, h float64) browser.Point {
	return browser.Point{X: math.Min(math.Max(p.X, 0), w-1), Y: math.Min(math.Max(p.Y, 0), h-1)}
}
