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
	for _, c := range []struct {
		name                 string
		replaced, left, want time.Duration // zero: none
	}{
		{"nothing is known", 0, 0, leastResistance},
		{"the machine is fast", 40 * ms, 9 * ms, leastResistance},
		{"new contexts are slow", 300 * ms, 0, 300 * ms},
		{"pages are slow", 0, 60 * ms, manyLeaves * 60 * ms},
		{"both are", 300 * ms, 60 * ms, 300 * ms},
		{"they are very slow", 3 * time.Second, 0, mostResistance},
	} {
		var p pace
		if c.replaced > 0 {
			p.replaced.Add(c.replaced)
		}
		if c.left > 0 {
			p.left.Add(c.left)
		}
		if got := p.resistance(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
