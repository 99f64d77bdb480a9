package actors

import (
	"testing"
	"time"
)

// TestResetLimit: a browser may take as long as others do lately, within bounds.
func TestResetLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                         string
		timeout, launch, reset, want time.Duration // zero: nothing was measured
	}{
		{"nothing is known", 2 * time.Second, 0, 0, 2 * time.Second},
		{"the machine is fast", 2 * time.Second, 300 * time.Millisecond, 50 * time.Millisecond, 2 * time.Second},
		{"launches are slow", 2 * time.Second, 3 * time.Second, 0, 6 * time.Second},
		{"resets are slow", 2 * time.Second, 0, 2 * time.Second, 8 * time.Second},
		{"everything stands still", 2 * time.Second, time.Minute, time.Minute, mostReset},
		{"the operator waits longer", 20 * time.Second, time.Minute, time.Minute, 20 * time.Second},
	} {
		n := &nodeParts{}
		n.cfg.Browser.ResetTimeout = c.timeout
		if c.launch > 0 {
			n.launchTimes.Add(c.launch)
		}
		if c.reset > 0 {
			n.resetTimes.Add(c.reset)
		}
		if got := n.resetLimit(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
