package actors

import (
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// leaseLost refuses a request for a session that may belong to another node by
// now.
func leaseLost() *api.Refusal {
	return api.Refuse(engine.CodeNoQuorum, "this node does not know whether its sessions are still its own")
}

// cancelledFor refuses a task that was cancelled before it began.
func cancelledFor(c api.Cause) *api.Refusal {
	if c == api.CauseRemoved { // as later requests are refused
		return api.Refuse(engine.CodeUnauthorized, "")
	}
	return api.Refuse(engine.CodeCancelled, "")
}

// waitable reports whether waiting may help against a refusal.
func waitable(code engine.Code) bool {
	switch code {
	case engine.CodeNoWorkerAvailable, engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline, engine.CodeSessionAttached:
		return true
	default:
		return false
	}
}

// dailyLimit refuses an account that has used up its day.
func dailyLimit(a api.Account, used int64, now time.Time) *api.Refusal {
	midnight := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	r := api.Refuse(engine.CodeDailyLimit,
		fmt.Sprintf("%d %s on plan %s, and the next day begins at %s", used, engine.Plural(used, "task", "tasks"), a.Plan, midnight.Format(time.RFC3339)))
	r.RetryAfter = midnight.Sub(now)
	return r
}
