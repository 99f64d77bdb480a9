package actors

import (
	"fmt"
	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// found tells what a worker is that refused a claim.
func (s *workerSlot) found(code engine.Code, o fsm.Claim) string {
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
		return fmt.Sprintf("%s is not the session of %s", api.Quoted(o.ID), s.spec.Name)
	default:
		return ""
	}
}

func (s *workerSlot) info() api.WorkerInfo {
	return api.WorkerInfo{
		ID: s.spec.ID, Name: s.spec.Name, State: s.status.State, Since: s.since,
		Owner: s.spec.Owner, Session: s.status.Session, TaskID: s.status.Task,
		Draining: s.draining, Added: s.spec.Added,
	}
}
