package engine

import (
	"testing"
	"time"
)

// TestResistance: a page may take as long as a new context takes lately, or some times as
// long as other pages, within bounds.
func TestResistance(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	start := time.Now()
	for _, c := range []struct {
		name           string
		replaced, left []time.Duration // each a second after the one before
		wait           time.Duration   // after the last
		want           time.Duration
	}{
		{name: "nothing is known", want: leastResistance},
		{name: "the machine is fast", replaced: []time.Duration{40 * ms}, left: []time.Duration{9 * ms}, want: leastResistance},
		{name: "new contexts are slow", replaced: []time.Duration{300 * ms}, want: 300 * ms},
		{name: "one of them was slow", replaced: []time.Duration{100 * ms, 500 * ms}, want: 200 * ms},
		{name: "pages are slow", left: []time.Duration{60 * ms}, want: manyLeaves * 60 * ms},
		{name: "both are", replaced: []time.Duration{300 * ms}, left: []time.Duration{60 * ms}, want: 300 * ms},
		{name: "they are very slow", replaced: []time.Duration{3 * time.Second}, want: mostResistance},
		{name: "they were slow until just now", replaced: []time.Duration{300 * ms}, wait: paceHolds - 1, want: 300 * ms},
		{name: "they were slow long ago", replaced: []time.Duration{300 * ms}, left: []time.Duration{60 * ms}, wait: paceHolds, want: leastResistance},
	} {
		var p pace
		now := start
		for i, took := range c.replaced {
			now = start.Add(time.Duration(i) * time.Second)
			p.replacing(took, now)
		}
		for i, took := range c.left {
			now = start.Add(time.Duration(i) * time.Second)
			p.leaving(took, now)
		}
		if got := p.resistance(now.Add(c.wait)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
