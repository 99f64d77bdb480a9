package outcome_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
)

// TestEveryMixOfFailures: of lists that ran to their ends, with up to four failures of which
// any may be tolerated, those have failed that did not tolerate each, with the code of the
// first one that was not tolerated. Polls say "complete" of all of them.
func TestEveryMixOfFailures(t *testing.T) {
	codes := []engine.Code{engine.CodeElementNotFound, engine.CodeTimeout, engine.CodeNavigationFailed, engine.CodeElementNotFound}
	for n := range len(codes) + 1 {
		for mix := range 1 << n {
			out, first := &engine.Outcome{End: engine.EndCompleted}, -1
			for i := range n {
				tolerated := mix>>i&1 == 1
				out.Failures = append(out.Failures, engine.Failure{Code: codes[i], Path: fmt.Sprint(i), Tolerated: tolerated})
				if !tolerated && first < 0 {
					first, out.Failed = i, codes[i] // as the engine tells: see TestTheFirstFailureThatCounts there
				}
			}
			name := fmt.Sprintf("%d failures, tolerated %04b", n, mix)
			want, counted := engine.Code(""), api.TaskComplete
			if first >= 0 {
				want, counted = codes[first], api.TaskFailed
			}
			if got := outcome.Code(out); got != want || outcome.Failed(out) != (first >= 0) {
				t.Errorf("%s: it has failed with %q, want %q", name, got, want)
			}
			switch f := outcome.Failure(out); {
			case first < 0 && f != nil:
				t.Errorf("%s: its failure is %+v", name, f)
			case first >= 0 && (f == nil || f.Path != fmt.Sprint(first)):
				t.Errorf("%s: its failure is %+v, want the one at %d", name, f, first)
			}
			polled := outcome.Polled(out.End)
			if polled != api.TaskComplete || outcome.Counted(polled, outcome.Code(out)) != counted {
				t.Errorf("%s: it is polled as %s and counts as %s", name, polled, outcome.Counted(polled, outcome.Code(out)))
			}
		}
	}
}

// TestEveryEnd: a list that did not come to its end has failed with what ended it, whatever
// it tolerated before.
func TestEveryEnd(t *testing.T) {
	tolerated := engine.Failure{Code: engine.CodeElementNotFound, Tolerated: true}
	ending := engine.Failure{Code: engine.CodeNavigationFailed}
	for _, one := range []struct {
		end      engine.End
		failures []engine.Failure
		want     engine.Code
		about    int // the failure that the code is about; -1: none
	}{
		{engine.EndStopped, []engine.Failure{tolerated, ending}, engine.CodeNavigationFailed, 1},
		{engine.EndStopped, []engine.Failure{ending}, engine.CodeNavigationFailed, 0},
		{engine.EndStopped, nil, engine.CodeInternal, -1},
		{engine.EndTimeout, []engine.Failure{tolerated}, engine.CodeTaskTimeout, -1},
		{engine.EndTimeout, nil, engine.CodeTaskTimeout, -1},
		{engine.EndCrashed, []engine.Failure{ending}, engine.CodeBrowserCrashed, -1},
		{engine.EndInterrupted, []engine.Failure{tolerated}, engine.CodeInterrupted, -1},
		{engine.EndCancelled, []engine.Failure{ending}, engine.CodeCancelled, -1},
		{engine.EndLost, nil, engine.CodeWorkerLost, -1},
		{"of a later release", nil, engine.CodeInternal, -1},
	} {
		out := &engine.Outcome{End: one.end, Failures: one.failures}
		f := outcome.Failure(out)
		if got := outcome.Code(out); got != one.want || !outcome.Failed(out) || (f != nil) != (one.about >= 0) || f != nil && f != &out.Failures[one.about] {
			t.Errorf("%s: it has failed with %q about %+v, want %q about %d", one.end, got, f, one.want, one.about)
		}
		if polled := outcome.Polled(one.end); polled != api.TaskFailed || outcome.Counted(polled, one.want) != api.TaskFailed {
			t.Errorf("%s: it is polled as %s", one.end, polled)
		}
	}
}

// TestResultsThatNoAnswerGives: the task has failed, however its list has ended.
func TestResultsThatNoAnswerGives(t *testing.T) {
	for _, more := range []int{0, 1} {
		out := &engine.Outcome{End: engine.EndCompleted, Data: make(json.RawMessage, outcome.MaxResult-10), Last: make(json.RawMessage, 10+more)}
		if got, large := outcome.Code(out), more > 0; large != (got == engine.CodePayloadTooLarge) || outcome.Failed(out) != large {
			t.Errorf("%d bytes more than an answer gives: %q", more, got)
		}
	}
}

// TestEndsOfEarlierReleases: they wrote no code of a list that ran to its end, and what they
// took for a success stays one.
func TestEndsOfEarlierReleases(t *testing.T) {
	for _, one := range []struct {
		polled api.TaskStatus
		code   engine.Code
		want   api.TaskStatus
	}{
		{api.TaskComplete, "", api.TaskComplete},
		{api.TaskComplete, engine.CodeElementNotFound, api.TaskFailed},
		{api.TaskFailed, engine.CodeTaskTimeout, api.TaskFailed},
		{api.TaskFailed, "", api.TaskFailed},
		{api.TaskPending, "", api.TaskPending},
	} {
		if got := outcome.Counted(one.polled, one.code); got != one.want {
			t.Errorf("%s with %q counts as %s, want %s", one.polled, one.code, got, one.want)
		}
	}
}
