package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// chart is a diagram with logarithmic axes, or linear ones that begin at zero.
type chart struct {
	title  string
	series []series
	linear bool
}

type series struct {
	name   string
	points [][2]float64
}

// add gives each series its value at x.
func (c *chart) add(x float64, values ...float64) {
	for i, v := range values {
		c.series[i].points = append(c.series[i].points, [2]float64{x, v})
	}
}

// Sizes of a diagram in pixels: the whole, and what is around its area.
const (
	chartWidth, chartHeight = 420, 320
	left, right, top, below = 64, 20, 58, 48
)

// colours can be told apart by people who see fewer of them, too, and on a dark
// ground as on a light one.
var colours = []string{"#0072b2", "#d55e00", "#009e73"}

// draw draws diagrams beside each other as SVG.
func draw(xTitle string, charts ...chart) string { return drawGrid(xTitle, len(charts), charts...) }

// drawGrid draws diagrams in rows of so many.
func drawGrid(xTitle string, columns int, charts ...chart) string {
	var b strings.Builder
	rows := (len(charts) + columns - 1) / columns
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#555">`+"\n", chartWidth*columns, chartHeight*rows)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	for i, c := range charts {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*chartWidth, i/columns*chartHeight)
		c.draw(&b, xTitle)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *chart) draw(b *strings.Builder, xTitle string) {
	scale, ticks := math.Log10, c.decades
	if c.linear {
		scale, ticks = func(v float64) float64 { return v }, c.steps
	}
	xs, ys := ticks(0), ticks(1)
	along := func(v float64, ticks []float64) float64 {
		first, last := scale(ticks[0]), scale(ticks[len(ticks)-1])
		return (scale(v) - first) / (last - first)
	}
	x := func(v float64) float64 { return left + along(v, xs)*(chartWidth-left-right) }
	y := func(v float64) float64 { return chartHeight - below - along(v, ys)*(chartHeight-top-below) }
	label := func(at, height float64, anchor, more, s string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", at, height, anchor, more, html.EscapeString(s))
	}
	label(left, 20, "start", ` font-weight="bold"`, c.title)
	label((left+chartWidth-right)/2, chartHeight-10, "middle", "", xTitle)
	for _, v := range xs {
		fmt.Fprintf(b, `<path d="M%.1f %d V%d" stroke="#ddd"/>`+"\n", x(v), top, chartHeight-below)
		label(x(v), chartHeight-below+16, "middle", "", number(v))
	}
	for _, v := range ys {
		fmt.Fprintf(b, `<path d="M%d %.1f H%d" stroke="#ddd"/>`+"\n", left, y(v), chartWidth-right)
		label(left-6, y(v)+4, "end", "", number(v))
	}
	for i, s := range c.series {
		colour := colours[i%len(colours)]
		var points []string
		for _, p := range s.points {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p[0]), y(p[1])))
			if c.linear {
				continue // a curve of many points
			}
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(p[0]), y(p[1]), colour)
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
		label(float64(chartWidth-right), float64(20+14*i), "end", fmt.Sprintf(` fill="%s"`, colour), s.name)
	}
}

// decades are the powers of ten around the values on an axis.
func (c *chart) decades(axis int) (ticks []float64) {
	from, to := math.Inf(1), math.Inf(-1)
	for _, s := range c.series {
		for _, p := range s.points {
			from, to = min(from, math.Floor(math.Log10(p[axis]))), max(to, math.Ceil(math.Log10(p[axis])))
		}
	}
	if from == to {
		to++
	}
	for d := from; d <= to; d++ {
		ticks = append(ticks, math.Pow(10, d))
	}
	return ticks
}

// steps are round numbers from zero to above the values on an axis.
func (c *chart) steps(axis int) (ticks []float64) {
	most := 1.0
	for _, s := range c.series {
		for _, p := range s.points {
			most = max(most, p[axis])
		}
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, n := range []float64{0.2, 0.5, 1} {
		if most/(step*n) <= 6 {
			step *= n
			break
		}
	}
	for v := 0.0; ; v += step {
		ticks = append(ticks, v)
		if v >= most {
			return ticks
		}
	}
}

func number(v float64) string {
	if v != math.Trunc(v) {
		return fmt.Sprintf("%g", v)
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
