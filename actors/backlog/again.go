package backlog

import (
	"slices"
	"time"

	"troupe/engine"
)

// LongestBackoff bounds the delay before another attempt.
const LongestBackoff = time.Hour

// defaultRetryOn are the codes of ends after which a task with several attempts
// begins again, where the request does not name others.
var defaultRetryOn = []engine.Code{engine.CodeInterrupted, engine.CodeWorkerLost, engine.CodeBrowserCrashed, engine.CodeTimeout}

// Again decides whether a task begins again after so many attempts, the last of which
// ended with a code, and how long it waits before. An empty code is an end without a
// failure.
func Again(q *engine.Queue, attempts int, code engine.Code) (after time.Duration, again bool) {
	if code == "" || code == engine.CodeCancelled || attempts >= q.Attempts {
		return 0, false
	}
	on := q.RetryOn
	if on == nil {
		on = defaultRetryOn
	}
	if code == engine.CodeTaskTimeout { // for clients there is one word for time that was over
		code = engine.CodeTimeout
	}
	if !slices.Contains(on, code) {
		return 0, false
	}
	after = q.Backoff
	for range attempts - 1 {
		if after *= 2; after >= LongestBackoff {
			break
		}
	}
	return min(after, LongestBackoff), true
}
