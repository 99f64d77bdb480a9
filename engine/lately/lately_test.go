package lately

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestMean(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		took []time.Duration // each a second after the one before
		wait time.Duration   // after the last
		want time.Duration
	}{
		{"nothing", nil, 0, 0},
		{"one", []time.Duration{40 * ms}, 0, 40 * ms},
		{"the last counts a quarter", []time.Duration{100 * ms, 500 * ms}, 0, 200 * ms},
		{"again", []time.Duration{100 * ms, 500 * ms, 200 * ms}, 0, 200 * ms},
		{"it still holds", []time.Duration{300 * ms}, holds - 1, 300 * ms},
		{"it is forgotten", []time.Duration{300 * ms}, holds, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var m Mean
			for i, took := range c.took {
				if i > 0 {
					time.Sleep(time.Second)
				}
				m.Add(took)
			}
			time.Sleep(c.wait)
			if got := m.Value(); got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		})
	}
}
