package api

import (
	"errors"
	"fmt"
	"time"

	"troupe/engine"
	"troupe/engine/scarce"
	"troupe/persistence"
)

// Refusal says why a task was not run.
type Refusal struct {
	Code       engine.Code   `json:"Code"`
	Text       string        `json:"Text"`
	RetryAfter time.Duration `json:"RetryAfter"` // zero where trying again is no use
	Position   int           `json:"Position"`   // place in the queue when the waiter gave up; 1 is next, zero: did not wait
	ForwardTo  *ForwardTo    `json:"Elsewhere"`  // another node may have a worker; only for forwardable requests
}

// Error is the text for clients.
func (r *Refusal) Error() string { return r.Text }

// NotFound reports whether it says that there is no such task.
func (r *Refusal) NotFound() bool { return r != nil && r.Code == engine.CodeTaskNotFound }

// FailedInside is the text of a failure by a fault of the service itself.
const FailedInside = "the service failed: see its log"

// How long a client should wait before it tries again, where nothing better is
// known. A busy worker is free in the time of a short task; a reserved one
// takes longer, and a full disk longest.
const (
	soon  = time.Second
	later = 5 * time.Second
	full  = 30 * time.Second
)

// refusals are the words that clients match on, and when another try makes sense.
var refusals = map[engine.Code]struct {
	text  string
	retry time.Duration
}{
	engine.CodeInvalidRequest:      {"The task asks for what this service does not give", 0},
	engine.CodeUnauthorized:        {"The account was removed", 0},
	engine.CodePlanRequired:        {"Plan does not allow this", 0},
	engine.CodeForeignWorker:       {"Worker does not belong to this account", 0},
	engine.CodeSessionLimit:        {"Session limit reached", 0},
	engine.CodeNoWorkerAvailable:   {"No workers available", soon},
	engine.CodeWorkerBusy:          {"Worker is busy", soon},
	engine.CodeWorkerReserved:      {"Worker is reserved", later},
	engine.CodeWorkerOffline:       {"Worker offline", soon},
	engine.CodeSessionAttached:     {"A client is attached to the session", later},
	engine.CodeSessionShared:       {"The session shares its browser with other workers, so that no client may attach to it", 0},
	engine.CodeSessionMismatch:     {"Session mismatch", 0},
	engine.CodeDailyLimit:          {"Daily task limit reached", 0},
	engine.CodeTooManyWaiting:      {"Too many requests are waiting", 0},
	engine.CodeQueueFull:           {"The queue of the account is full", full},
	engine.CodeQueueUnavailable:    {"The task cannot be queued here: send it without `queue`", 0},
	engine.CodeNoticesUnavailable:  {"Nothing sends notices here: send the task without `notify`", 0},
	engine.CodeSiteNotAllowed:      {"The token may not use this", 0},
	engine.CodeNotFound:            {"There is nothing to see", 0},
	engine.CodeTaskNotFound:        {"Task not found", 0},
	engine.CodeProfileBusy:         {"Another task uses the profile", soon},
	engine.CodeProfileNotFound:     {"There is no such profile, or no such version", 0},
	engine.CodeIdempotencyMismatch: {"The key was used for another request", 0},
	engine.CodeDraining:            {"The service takes no new tasks: it is drained or stopping", later},
	engine.CodeStorageQuota:        {"The account keeps as much as its plan allows: files and records make room as they expire or are removed, and uploads as their tasks end", time.Minute},
	engine.CodeStorageFull:         {"The service has too little space on its disk to write anything down", full},
	engine.CodeStorageUnwritable:   {"The service's data folder takes no new files, so nothing can be written down", full},
	engine.CodeUnreadable:          {"A record cannot be opened with the service's key: it was sealed with another one", 0},
	engine.CodeWorkerLost:          {"The node that plays the task does not answer", 0},
	engine.CodeNoQuorum:            {"The cluster has no majority now", 2 * soon},
	engine.CodeCancelled:           {"The task was cancelled before it began", 0},
}

// Refuse makes the refusal of a code. The text found says what was the case
// instead, and follows the words that clients match on.
func Refuse(code engine.Code, found string) *Refusal {
	t, ok := refusals[code]
	if !ok {
		code, t.text = engine.CodeInternal, "The service failed to run the task"
	}
	if found != "" {
		t.text += ": " + found
	}
	return &Refusal{Code: code, Text: t.text, RetryAfter: t.retry}
}

// ErrSessionTaken tells that a session belongs to another node, or has ended.
var ErrSessionTaken = errors.New("the session has another owner")

// RefusalFor refuses a request because something could not be written or read.
func RefusalFor(err error) *Refusal {
	var no *Refusal
	_ = scarce.Note("do what a client asks for", err)
	switch {
	case errors.As(err, &no): // as somebody said before
		return no
	case errors.Is(err, ErrSessionTaken):
		return Refuse(engine.CodeSessionMismatch, "another node has the session")
	case errors.Is(err, persistence.ErrProfileBusy):
		return Refuse(engine.CodeProfileBusy, "")
	case errors.Is(err, persistence.ErrQuota):
		return Refuse(engine.CodeStorageQuota, "")
	case errors.Is(err, persistence.ErrFull):
		return Refuse(engine.CodeStorageFull, "")
	case errors.Is(err, persistence.ErrFailed):
		return Refuse(engine.CodeStorageUnwritable, "the disk has failed, and the service has to be started again")
	case errors.Is(err, persistence.ErrUnwritable):
		return Refuse(engine.CodeStorageUnwritable, "")
	case errors.Is(err, persistence.ErrSealed):
		return Refuse(engine.CodeUnreadable, "")
	case errors.Is(err, persistence.ErrNoQuorum):
		return Refuse(engine.CodeNoQuorum, "")
	}
	return Refuse(engine.CodeInternal, "")
}

// OutsideOf refuses a token that is bound to sites what carries another bound, or none.
func OutsideOf(what string) *Refusal {
	return Refuse(engine.CodeSiteNotAllowed, "the token is bound to sites, and "+what+" is not bound to the same or to fewer")
}

// Quoted quotes an identifier for an error text, shortened.
func Quoted(id string) string {
	if id == "" {
		return "no id"
	}
	return fmt.Sprintf("%q", id)
}
