package api

import (
	"time"

	"troupe/engine"
)

// Refusal says why a task was not run.
type Refusal struct {
	Code       engine.Code   `json:"Code"`
	Text       string        `json:"Text"`
	RetryAfter time.Duration `json:"RetryAfter"` // zero where trying again is no use
	Position   int           `json:"Position"`   // place in the queue when the waiter gave up; 1 is next, zero: did not wait
	Elsewhere  *Elsewhere    `json:"Elsewhere"`  // another node may have a worker; only where the request may roam
}

func (r *Refusal) Error() string { return r.Text }

// NotFound reports whether it says that there is no such task.
func (r *Refusal) NotFound() bool { return r != nil && r.Code == engine.CodeTaskNotFound }

// FailedInside is the text of a failure by a fault of the service itself.
const FailedInside = "the service failed: see its log"
