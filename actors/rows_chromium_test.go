package actors_test

import (
	"flag"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine/browser"
	"troupe/testkit"
)

var chromium = flag.Bool("chromium", false, "drive the rows of TestTransitions in real browsers, once and in real time")

// span is a time in a row: what it is, or how long it lasts in real time.
func span(d, really time.Duration) time.Duration {
	if *chromium {
		return really
	}
	return d
}

// inChromium runs a row with browsers that load a page, in real time. A row's
// workers share one, unless there is only one worker.
func inChromium(t *testing.T) func(*testing.T, testkit.Options, func(*testing.T, *testkit.Kit)) {
	if _, err := browser.Find(); err != nil {
		t.Skipf("the rows cannot be driven in real browsers here: %v", err)
	}
	trace := testkit.Tracing(t)
	return func(t *testing.T, o testkit.Options, drive func(*testing.T, *testkit.Kit)) {
		t.Parallel()
		e := testkit.Chromium(t)
		if o.Workers > 1 {
			e.Group = func(string) string { return "all" }
		}
		o.Backend = &testkit.Backend{Engine: e, Trace: trace}
		config := o.Config
		o.Config = func(c *actors.Config) {
			// A busy machine is slow, which none of the rows is about.
			c.Browser.LaunchTimeout, c.Browser.ResetTimeout, c.Session.SaveTimeout = time.Minute, 20*time.Second, 20*time.Second
			if config != nil {
				config(c)
			}
		}
		drive(t, testkit.New(t, o))
	}
}
