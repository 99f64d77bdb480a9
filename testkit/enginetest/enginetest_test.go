package enginetest_test

import (
	"testing"
	"time"

	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/enginetest"
)

// TestScriptedEngine runs the tests on the engine that stands in for browsers.
func TestScriptedEngine(t *testing.T) {
	enginetest.Run(t, enginetest.Options{
		Start: func(*testing.T) engine.Engine {
			e := testkit.NewEngine()
			// The tasks' own steps are not played: they say how long one takes.
			e.Default = func(c testkit.Call) testkit.Script {
				return testkit.Script{Takes: c.Task.Timeout - time.Minute, Steps: 1}
			}
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
	})
}
