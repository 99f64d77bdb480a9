package schedule

import (
	"fmt"
	"slices"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// Scheduler decides which worker gets which job, which jobs wait, and which go to
// another node. It decides by what workers and nodes last reported, sends nothing
// and reads no clock: pool does.
type Scheduler struct {
	*Roster
	Queue *Queue
	Jobs  map[string]*Job // by task: those that wait, and those that a worker has
	Peers PeerCapacity

	// SharePerMil is how many of a thousand shared workers the sessions of one
	// account may hold.
	SharePerMil int
}

// NewScheduler makes a scheduler of the workers in the roster.
func NewScheduler(r *Roster, sharePerMil int) *Scheduler {
	return &Scheduler{Roster: r, Queue: NewQueue(), Jobs: map[string]*Job{}, Peers: PeerCapacity{}, SharePerMil: sharePerMil}
}

// Route selects the worker for a job, or says why there is none now. With a
// refusal, the returned slot is the worker to wait for; nil means any worker.
func (r *Scheduler) Route(j *Job) (*Slot, *api.Refusal) {
	s, no := r.named(j)
	if no != nil {
		return nil, no
	}
	j.Named = s != nil
	switch {
	case s != nil && j.Remote:
		return nil, api.Refuse(engine.CodeDraining, "")
	case s == nil:
		return r.RouteFree(j)
	}
	if !s.Reported {
		return s, api.Refuse(engine.CodeWorkerOffline, s.WhyRefused(engine.CodeWorkerOffline, j.Claim))
	}
	if !r.mayShareBrowser(s, j) {
		return s, api.Refuse(engine.CodeWorkerBusy, "its browser serves another account")
	}
	if s.Job != nil || s.ReservedFor != nil { // the worker would say the same
		code := engine.CodeWorkerBusy
		if s.Job != nil && s.Job.Request.Execute.Attach != 0 && s.Job.Account() == j.Account() {
			code = engine.CodeSessionAttached
		}
		if j.Claim.ID != "" && j.Claim.ID != s.Status.Session {
			code = engine.CodeSessionMismatch
		}
		return s, api.Refuse(code, s.WhyRefused(code, j.Claim))
	}
	if !r.mayHold(s, j) {
		return nil, r.sessionLimit(j)
	}
	return s, nil
}

// named finds the only worker that will do for a job; nil: any will.
func (r *Scheduler) named(j *Job) (*Slot, *api.Refusal) {
	switch worker := j.Request.Execute.Task.WorkerID; {
	case j.Request.Execute.Target() != "":
		s := r.Slots[worker]
		if s == nil || s.Removal != nil || s.Spec.Owner != "" && s.Spec.Owner != j.Account() {
			return nil, api.Refuse(engine.CodeForeignWorker, api.Quoted(worker))
		}
		return s, nil
	case j.Claim.Intent == fsm.Resume || j.Claim.Intent == fsm.Close:
		s := r.Sessions[j.Claim.ID]
		if s == nil || s.Removal != nil || s.Status.Holder != j.Account() {
			return nil, api.Refuse(engine.CodeSessionMismatch, "there is no session "+api.Quoted(j.Claim.ID)+" of this account")
		}
		return s, nil
	case j.Claim.Intent == fsm.Override:
		return r.Overridable(j.Account()), nil
	default:
		return nil, nil
	}
}

// RouteFree selects any free worker for a job, or says why there is none now.
func (r *Scheduler) RouteFree(j *Job) (*Slot, *api.Refusal) {
	shared := true
	if j.OpensSession() {
		var some bool
		if some, shared = r.mayOpenSession(j); !some || !shared && r.Owned[j.Account()] == 0 {
			return nil, r.sessionLimit(j)
		}
	}
	if j.Remote {
		return nil, api.Refuse(engine.CodeNoWorkerAvailable, "this node takes no more tasks, and no other one has a free worker")
	}
	if s := r.Select(j.Account(), shared, func(s *Slot) bool { return r.mayShareBrowser(s, j) }); s != nil {
		return s, nil
	}
	return nil, api.Refuse(engine.CodeNoWorkerAvailable, r.WhyNoneFree(shared))
}

func (r *Scheduler) mayOpenSession(j *Job) (some, shared bool) {
	limits := j.Request.Limits
	limits.Reserved -= r.Peers.Held(j.Account())
	return r.MayOpenSession(j.Account(), limits, r.SharePerMil)
}

// mayHold reports whether the session that the job may open is within the
// account's limits on this worker. Taking over a session opens none.
func (r *Scheduler) mayHold(s *Slot, j *Job) bool {
	if !j.OpensSession() || s.Holder != "" {
		return true
	}
	some, shared := r.mayOpenSession(j)
	return some && (shared || s.Spec.Owner != "")
}

// mayShareBrowser reports whether a job may go to a worker that shares its
// browser. A browser that serves one account takes no more of its tasks while
// another account waits that needs it more: that account could wait forever
// otherwise. An account with a session in the browser keeps it.
func (r *Scheduler) mayShareBrowser(s *Slot, j *Job) bool {
	b := s.Shared
	if b == nil || b.Account == "" || b.HasSession && b.Account == j.Account() {
		return true
	}
	return b.Account == j.Account() && !r.contested(b)
}

// contested reports whether another account waits that should get the browser.
func (r *Scheduler) contested(b *SharedBrowser) bool {
	deserves := func(account string) bool { return r.MayTakeBrowser(account, b.Account) }
	other := func(account string) bool { return account != b.Account }
	return r.Queue.Waiting("", deserves) ||
		slices.ContainsFunc(b.Slots, func(s *Slot) bool { return r.Queue.Waiting(s.Spec.ID, other) })
}

func (r *Scheduler) sessionLimit(j *Job) *api.Refusal {
	return api.Refuse(engine.CodeSessionLimit, fmt.Sprintf("sessions of this account hold %d of the workers; plan %s allows %d, and at most %s of the shared ones, which is %d here",
		len(r.Held[j.Account()])+r.Peers.Held(j.Account()), j.Request.Execute.Account.Plan, j.Request.Limits.Reserved, sharePercent(r.SharePerMil), r.SharedLimit(r.SharePerMil)))
}

func sharePercent(perMil int) string {
	if perMil == 500 {
		return "half"
	}
	return fmt.Sprintf("%g%%", float64(perMil)/10)
}

// Has reports whether an account has a job, a session or a worker here.
func (r *Scheduler) Has(account string) bool {
	for _, j := range r.Jobs {
		if j.Account() == account {
			return true
		}
	}
	return slices.ContainsFunc(r.All, func(s *Slot) bool { return s.Status.Holder == account || s.Spec.Owner == account })
}
