// Package outcome decides how a task has ended for all that counts, repeats, tells or
// colours ends: the queue, batches, schedules, notices, lists, metrics, exit codes and the
// web page. A poll says more kindly "complete" of a list that ran to its end whatever failed
// on the way: see [Polled]. Nothing else may.
package outcome

import (
	"troupe/actors/api"
	"troupe/engine"
)

// MaxResult bounds the result of a task, in bytes. Larger results belong in files.
const MaxResult = 16 << 20

// TooLarge tells how many bytes the result of a task has that no answer gives.
func TooLarge(out *engine.Outcome) (bytes int, is bool) {
	n := len(out.Data) + len(out.Last)
	return n, n > MaxResult
}

// Code is what a task has failed with; empty: it has succeeded. Of a list that ran to its
// end it is the code of the first failure that the list did not tolerate, and else that of
// what ended it.
func Code(out *engine.Outcome) engine.Code {
	if _, large := TooLarge(out); large {
		return engine.CodePayloadTooLarge
	}
	switch out.End {
	case engine.EndCompleted:
		return out.Failed
	case engine.EndStopped:
		if n := len(out.Failures); n > 0 {
			return out.Failures[n-1].Code
		}
	case engine.EndTimeout:
		return engine.CodeTaskTimeout
	case engine.EndCrashed:
		return engine.CodeBrowserCrashed
	case engine.EndInterrupted:
		return engine.CodeInterrupted
	case engine.EndCancelled:
		return engine.CodeCancelled
	case engine.EndLost:
		return engine.CodeWorkerLost
	}
	return engine.CodeInternal
}

// Failed reports whether a task has failed.
func Failed(out *engine.Outcome) bool { return Code(out) != "" }

// Failure is the failed action that [Code] is about; nil: it is about none, or there was no
// room to tell of it.
func Failure(out *engine.Outcome) *engine.Failure {
	code := Code(out)
	if out.End != engine.EndCompleted {
		if n := len(out.Failures); n > 0 && out.Failures[n-1].Code == code {
			return &out.Failures[n-1]
		}
		return nil
	}
	for i := range out.Failures {
		if f := &out.Failures[i]; !f.Tolerated && f.Code == code {
			return f
		}
	}
	return nil
}

// Cancelled is the outcome of a task that was cancelled, whatever it came to.
func Cancelled(out *engine.Outcome) *engine.Outcome {
	end := *out
	end.End = engine.EndCancelled
	return &end
}

// Polled is the status of a task with such an end in the answer to a poll, and in its own
// record, which polls read.
func Polled(end engine.End) api.TaskStatus {
	if end == engine.EndCompleted {
		return api.TaskComplete
	}
	return api.TaskFailed
}

// Counted is the status by which a task counts whose record has this one, and that has
// ended with a code. Earlier releases wrote no code where a list ran to its end: what they
// took for a success stays one.
func Counted(polled api.TaskStatus, code engine.Code) api.TaskStatus {
	if polled == api.TaskComplete && code != "" {
		return api.TaskFailed
	}
	return polled
}
