package actors

import (
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
	"troupe/persistence"
)

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
	engine.CodeUnauthorized:        {"The account was removed", 0},
	engine.CodePlanRequired:        {"Plan does not allow this", 0},
	engine.CodeForeignWorker:       {"Worker does not belong to this account", 0},
	engine.CodeSessionLimit:        {"Session limit reached", 0},
	engine.CodeNoWorkerAvailable:   {"No workers available", soon},
	engine.CodeWorkerBusy:          {"Worker is busy", soon},
	engine.CodeWorkerReserved:      {"Worker is reserved", later},
	engine.CodeWorkerOffline:       {"Worker offline", soon},
	engine.CodeSessionMismatch:     {"Session mismatch", 0},
	engine.CodeDailyLimit:          {"Daily task limit reached", 0},
	engine.CodeTooManyWaiting:      {"Too many requests are waiting", 0},
	engine.CodeNotFound:            {"There is nothing to see", 0},
	engine.CodeTaskNotFound:        {"Task not found", 0},
	engine.CodeIdempotencyMismatch: {"The key was used for another request", 0},
	engine.CodeDraining:            {"The service takes no new tasks: it is drained or stopping", later},
	engine.CodeStorageQuota:        {"The account keeps as many files as its plan allows: they make room as they expire, and uploads as their tasks end", time.Minute},
	engine.CodeStorageFull:         {"The service has too little space on its disk to write anything down", full},
	engine.CodeStorageUnwritable:   {"The service's data folder takes no new files, so nothing can be written down", full},
	engine.CodeWorkerLost:          {"The node that plays the task does not answer", 0},
	engine.CodeNoQuorum:            {"The cluster has no majority now", 2 * soon},
	engine.CodeCancelled:           {"The task was cancelled before it began", 0},
}

// refuse makes the refusal that a code stands for. What was found instead
// follows the words that clients match on.
func refuse(code engine.Code, found string) *api.Refusal {
	t, ok := refusals[code]
	if !ok {
		code, t.text = engine.CodeInternal, "The service failed to run the task"
	}
	if found != "" {
		t.text += ": " + found
	}
	return &api.Refusal{Code: code, Text: t.text, RetryAfter: t.retry}
}

// Unkept is the answer to a request of which something could not be written down, or
// read.
func Unkept(err error) *api.Refusal {
	var no *api.Refusal
	switch {
	case errors.As(err, &no): // as somebody said before
		return no
	case errors.Is(err, errTaken):
		return refuse(engine.CodeSessionMismatch, "another node has the session")
	case errors.Is(err, persistence.ErrQuota):
		return refuse(engine.CodeStorageQuota, "")
	case errors.Is(err, persistence.ErrFull):
		return refuse(engine.CodeStorageFull, "")
	case errors.Is(err, persistence.ErrFailed):
		return refuse(engine.CodeStorageUnwritable, "the disk has failed, and the service has to be started again")
	case errors.Is(err, persistence.ErrUnwritable):
		return refuse(engine.CodeStorageUnwritable, "")
	case errors.Is(err, persistence.ErrNoQuorum):
		return refuse(engine.CodeNoQuorum, "")
	}
	return refuse(engine.CodeInternal, "")
}

// unheld is the answer to a request for a session that another node may have by now.
func unheld() *api.Refusal {
	return refuse(engine.CodeNoQuorum, "this node does not know whether its sessions are still its own")
}

// cancelledFor refuses a task that was told to end before it began.
func cancelledFor(c api.Cause) *api.Refusal {
	if c == api.CauseRemoved { // as whoever asks after that is told
		return refuse(engine.CodeUnauthorized, "")
	}
	return refuse(engine.CodeCancelled, "")
}

// waitable reports whether waiting may help against a refusal.
func waitable(code engine.Code) bool {
	switch code {
	case engine.CodeNoWorkerAvailable, engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline:
		return true
	default:
		return false
	}
}

// dailyLimit refuses an account that has used up its day.
func dailyLimit(a api.Account, used int64, now time.Time) *api.Refusal {
	midnight := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	r := refuse(engine.CodeDailyLimit,
		fmt.Sprintf("%d %s on plan %s, and the next day begins at %s", used, engine.Plural(used, "task", "tasks"), a.Plan, midnight.Format(time.RFC3339)))
	r.RetryAfter = midnight.Sub(now)
	return r
}

// found tells what a worker is that refused a claim.
func (s *seat) found(code engine.Code, o fsm.Claim) string {
	switch code {
	case engine.CodeWorkerBusy:
		return fmt.Sprintf("%s runs another task", s.spec.Name)
	case engine.CodeWorkerReserved:
		if o.Intent == fsm.Override {
			return fmt.Sprintf("a session of another account holds %s", s.spec.Name)
		}
		return fmt.Sprintf("a session holds %s", s.spec.Name)
	case engine.CodeWorkerOffline:
		if s.draining {
			return fmt.Sprintf("%s was told to take no more tasks", s.spec.Name)
		}
		return fmt.Sprintf("%s has no browser now", s.spec.Name)
	case engine.CodeSessionMismatch:
		return fmt.Sprintf("%s is not the session of %s", quoted(o.ID), s.spec.Name)
	default:
		return ""
	}
}

func quoted(id string) string {
	if id == "" {
		return "no id"
	}
	return fmt.Sprintf("%q", id)
}
