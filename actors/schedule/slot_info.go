package schedule

import (
	"fmt"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// WhyRefused says why the worker has refused a claim.
func (s *Slot) WhyRefused(code engine.Code, o fsm.Claim) string {
	switch code {
	case engine.CodeWorkerBusy:
		return fmt.Sprintf("%s runs another task", s.Spec.Name)
	case engine.CodeWorkerReserved:
		if o.Intent == fsm.Override {
			return fmt.Sprintf("a session of another account holds %s", s.Spec.Name)
		}
		return fmt.Sprintf("a session holds %s", s.Spec.Name)
	case engine.CodeWorkerOffline:
		if s.Draining {
			return fmt.Sprintf("%s was told to take no more tasks", s.Spec.Name)
		}
		return fmt.Sprintf("%s has no browser now", s.Spec.Name)
	case engine.CodeSessionMismatch:
		return fmt.Sprintf("%s is not the session of %s", api.Quoted(o.ID), s.Spec.Name)
	default:
		return ""
	}
}

// Info describes the worker for clients.
func (s *Slot) Info() api.WorkerInfo {
	return api.WorkerInfo{
		ID: s.Spec.ID, Name: s.Spec.Name, State: s.Status.State, Since: s.since,
		Owner: s.Spec.Owner, Session: s.Status.Session, TaskID: s.Status.Task,
		Draining: s.Draining, Added: s.Spec.Added,
	}
}
