package enginetest_test

import (
	"testing"
	"time"

	"troupe/engine"
	"troupe/engine/browser"
	"troupe/testkit"
	"troupe/testkit/enginetest"
	"troupe/testkit/need"
)

// scripted are the options for an engine that stands in for browsers, on
// whatever it stands. The tasks' own steps are not played: they say how long one
// takes.
func scripted(on func(t *testing.T) *testkit.Backend) enginetest.Options {
	return enginetest.Options{
		Start: func(t *testing.T) engine.Engine {
			e := testkit.NewEngine()
			e.Backend = on(t)
			e.Default = func(c testkit.Call) testkit.Script {
				return testkit.Script{Takes: c.Task.Timeout - time.Minute, Steps: 1}
			}
			t.Cleanup(func() {
				for _, f := range e.Faults() {
					t.Error(f)
				}
			})
			return e
		},
		Short: func(t *testing.T) *engine.Task {
			return enginetest.Task(t, `{"actions":[{"wait":10}],"timeout":60010}`)
		},
		Long: func(t *testing.T) *engine.Task {
			return enginetest.Task(t, `{"actions":[{"wait":60000}],"timeout":120000}`)
		},
		Mark: func(t *testing.T) *engine.Task {
			return enginetest.Task(t, `{"actions":[{"wait":1}],"timeout":60001}`)
		},
		Kill: func(_ *testing.T, in engine.Instance) { in.(*testkit.Browser).Kill() },
		Marked: func(t *testing.T, out *engine.Outcome) bool {
			r, err := testkit.ResultOf(out)
			if err != nil {
				t.Fatal(err)
			}
			return len(r.Before) > 0
		},
	}
}

// TestScriptedEngine runs the tests on the engine that stands in for browsers.
func TestScriptedEngine(t *testing.T) {
	enginetest.Run(t, scripted(func(*testing.T) *testkit.Backend { return nil }))
}

// TestStandingEngine runs them on one that stands on real browsers.
func TestStandingEngine(t *testing.T) {
	need.Time(t)
	if _, err := browser.Find(); err != nil {
		t.Skipf("there is nothing to stand on: %v", err)
	}
	trace := testkit.Tracing(t)
	enginetest.Run(t, scripted(func(t *testing.T) *testkit.Backend {
		e := testkit.Chromium(t)
		e.Group = func(string) string { return "all" }
		return &testkit.Backend{Engine: e, Trace: trace}
	}))
}
