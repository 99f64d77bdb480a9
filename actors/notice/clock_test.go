package notice

import (
	"fmt"
	"testing"
	"time"

	"troupe/persistence/clock"
)

// TestNoticesClockSteps: the pause before another attempt is over by the first of the clocks,
// also over a restart.
func TestNoticesClockSteps(t *testing.T) {
	for name, one := range map[string]struct {
		ahead    time.Duration
		from, to time.Duration // between which the third attempt is, after the second
	}{
		"none":  {0, 15 * time.Second, 18 * time.Second},
		"back":  {-12 * time.Hour, 15 * time.Second, 22 * time.Second},
		"sleep": {12 * time.Hour, time.Second, time.Second + clock.Look},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restart ", restart), func(t *testing.T) {
				inBubble(t, func(b *bed) {
					b.net.set(always(500))
					b.end("t1", "https://receiver.example/")
					for len(b.net.all()) < 2 {
						time.Sleep(time.Second)
					}
					second := time.Now()
					b.wall.Set(one.ahead)
					if restart {
						b.Stop()
						b.start()
					}
					time.Sleep(time.Minute)
					all := b.net.all()
					if len(all) < 3 {
						t.Fatalf("%d attempts after a minute", len(all))
					}
					if took := all[2].at.Sub(second); took < one.from-2*time.Second || took > one.to {
						t.Errorf("the third attempt came after %s, want %s to %s", took, one.from, one.to)
					}
				})
			})
		}
	}
}
