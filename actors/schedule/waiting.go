package schedule

import (
	"cmp"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/fsm"
)

// Enqueue lets a job wait until the timer ends its wait: for one worker, or for
// any if s is nil.
func (r *Scheduler) Enqueue(j *Job, s *Slot, end *time.Timer) {
	if j.Wait == nil {
		j.Wait = &Waiter{Task: j.Task(), Account: j.Account()}
	}
	if j.Wait.Target = ""; s != nil {
		j.Wait.Target = s.Spec.ID
	}
	r.Queue.Add(j.Wait)
	j.Timer = end
}

// Dequeue takes a job out of the queue, if it is there.
func (r *Scheduler) Dequeue(j *Job) {
	if j.Waiting() {
		j.stopWaiting()
		r.Queue.Remove(j.Task())
		r.ServeAll = r.ServeAll || len(r.Browsers) > 0
	}
}

// NextFor takes the job out of the queue that a free worker serves next; nil:
// there is none.
func (r *Scheduler) NextFor(s *Slot) *Job {
	if s.Job != nil || s.ReservedFor != nil || r.Queue.Len() == 0 {
		return nil
	}
	return r.taken(r.Queue.Next(targets(s), func(w *Waiter) bool { return r.fits(s, w) }))
}

// NextOf is NextFor among the jobs that match.
func (r *Scheduler) NextOf(s *Slot, match func(*Job) bool) *Job {
	if s.Job != nil || s.ReservedFor != nil || r.Queue.Len() == 0 {
		return nil
	}
	return r.taken(r.Queue.Next(targets(s), func(w *Waiter) bool { return match(r.Jobs[w.Task]) && r.fits(s, w) }))
}

// taken is the job of a waiter that has left the queue.
func (r *Scheduler) taken(w *Waiter) *Job {
	if w == nil {
		return nil
	}
	j := r.Jobs[w.Task]
	j.stopWaiting()
	return j
}

func targets(s *Slot) []string { return []string{s.Spec.ID, ""} }

// fits reports whether a worker, as it is now, may serve a job. It does not check
// the session: the worker refuses a wrong one, and waiting would not help.
func (r *Scheduler) fits(s *Slot, w *Waiter) bool {
	j := r.Jobs[w.Task]
	if j.Remote || !r.mayHold(s, j) || !r.mayShareBrowser(s, j) {
		return false
	}
	switch s.Status.State {
	case api.Online:
		return s.Status.Claimable && (w.Target != "" || s.Spec.Owner == "" || s.Spec.Owner == w.Account)
	case api.Reserved:
		if w.Target == "" {
			return false
		}
		return j.Claim.ID != "" || j.Claim.Intent == fsm.Override && w.Account == s.Status.Holder
	default:
		return false
	}
}

// Idle lists the free workers that a waiting job could have. There are none while
// all goes well.
func (r *Scheduler) Idle() (idle []*Slot) {
	for _, s := range r.All {
		if s.Job == nil && s.ReservedFor == nil && r.Queue.Peek(targets(s), func(w *Waiter) bool { return r.fits(s, w) }) != nil {
			idle = append(idle, s)
		}
	}
	return idle
}

// WaitingFor lists the jobs that wait for a certain worker, the first to come
// first.
func (r *Scheduler) WaitingFor(s *Slot) (all []*Job) {
	for _, j := range r.Jobs {
		if j.Waiting() && j.Wait.Target == s.Spec.ID {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *Job) int { return cmp.Compare(a.Wait.Arrival, b.Wait.Arrival) })
	return all
}
