package actors

import (
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// admit decides by the rules of the account's plan. It returns the time the
// task may take. It does not count: that takes a store.
func admit(x *api.Execute, limits engine.Limits, owners map[string]string) (time.Duration, *api.Refusal) {
	t := x.Task
	timeout, lacking := limits.Admit(t)
	if lacking != "" {
		return 0, api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no %s", x.Account.Plan, lacking))
	}
	if x.Target() != "" {
		// Whether it belongs to somebody else or to nobody must look the same.
		if owner, ok := owners[t.WorkerID]; !ok || owner != "" && owner != x.Account.ID {
			return 0, api.Refuse(engine.CodeForeignWorker, fmt.Sprintf("%q", t.WorkerID))
		}
	}
	return timeout, nil
}
