package outcome_test

import (
	"encoding/json"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
)

// TestExampleIsSmall: what an example of a failure keeps says what went wrong where, and has
// nothing of the result.
func TestExampleIsSmall(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for end, want := range map[engine.End]engine.Code{engine.EndCompleted: "timeout", engine.EndStopped: "timeout", engine.EndTimeout: "task_timeout", engine.EndCrashed: "browser_crashed"} {
		o := &engine.Outcome{End: end, Data: large, Last: large, HAR: large, Pictures: []string{"p"}, Failed: "timeout", Steps: []engine.StepReport{{Result: large}}, Failures: []engine.Failure{
			{Code: "element_not_found", Text: "none", Path: "0", Tolerated: true}, {Code: "timeout", Text: "it took too long", Path: "3/loop/do/1", Action: large}}}
		p := &api.Polled{Status: api.TaskFailed, Executed: &api.Executed{TaskID: "t", Outcome: o}}
		short := outcome.Example(p)
		got := short.Executed.Outcome
		if n := got.Bytes(); n > 4096 {
			t.Errorf("%s: the example has %d bytes", end, n)
		}
		if outcome.Code(got) != outcome.Code(o) || outcome.Code(got) != want {
			t.Errorf("%s: the example failed with %q, want %q", end, outcome.Code(got), want)
		}
		was, is := outcome.Failure(o), outcome.Failure(got)
		if (was == nil) != (is == nil) || was != nil && (was.Text != is.Text || was.Path != is.Path) {
			t.Errorf("%s: the example has %+v, want %+v", end, is, was)
		}
		if len(p.Executed.Outcome.Data) != len(large) || len(got.Pictures) != 1 {
			t.Errorf("%s: %+v", end, got)
		}
	}
	huge := &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`"` + strings.Repeat("x", outcome.MaxResult) + `"`)}
	short := outcome.Example(&api.Polled{Executed: &api.Executed{Outcome: huge}}).Executed.Outcome
	if f := outcome.Failure(short); f == nil || f.Code != engine.CodePayloadTooLarge || !strings.Contains(f.Text, "16777218") || short.Bytes() > 4096 {
		t.Errorf("a result that is too large: %+v", short)
	}
	if outcome.Example(nil) != nil {
		t.Error("none is one")
	}
}
