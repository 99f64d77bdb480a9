package schedule

import (
	"troupe/actors/api"
	"troupe/engine"
)

// MayForward reports whether a job may run on another node, as far as this node
// knows.
func (r *Scheduler) MayForward(j *Job) bool {
	if !j.Request.Execute.Forwardable || j.Named {
		return false
	}
	if j.OpensSession() {
		some, _ := r.mayOpenSession(j)
		return some
	}
	return true
}

// PeerFor selects the node that a job tries after it got no worker here; nil:
// none.
func (r *Scheduler) PeerFor(j *Job, no *api.Refusal) *api.PeerCapacity {
	if len(r.Peers) == 0 || no.Code != engine.CodeNoWorkerAvailable && no.Code != engine.CodeSessionLimit || !r.MayForward(j) {
		return nil
	}
	return r.Peers.Best(j.Account())
}

// NextForPeer takes the job out of the queue that goes to a worker of another node
// next; nil: there is none.
func (r *Scheduler) NextForPeer(o *api.PeerCapacity) *Job {
	if r.Queue.Len() == 0 {
		return nil
	}
	return r.taken(r.Queue.Next([]string{""}, func(w *Waiter) bool {
		return o.For(w.Account) > 0 && r.MayForward(r.Jobs[w.Task])
	}))
}

// Forward counts a job that goes to another node, and says where it goes and what
// its place in the queue is.
func (r *Scheduler) Forward(j *Job, o *api.PeerCapacity) *api.ForwardTo {
	// Until its next offer, the node has one less. Whether that was one of the
	// account's own matters to no other account.
	o.Free--
	e := &api.ForwardTo{Node: o.Node, Place: api.Place{Until: j.Until}}
	if j.Wait != nil {
		e.Place.Arrival, e.Place.Turn = j.Wait.Arrival, j.Wait.Turn
	}
	return e
}

// RestorePlace gives a job its place in the queue back after another node has
// refused it.
func (r *Scheduler) RestorePlace(j *Job) {
	at := j.Request.Execute.Place
	if at.Until.IsZero() {
		return
	}
	j.Until = at.Until
	if at.Arrival != 0 {
		j.Wait = &Waiter{Task: j.Task(), Account: j.Account(), Arrival: at.Arrival, Turn: at.Turn}
	}
	if o := r.Peers[at.Refused]; o != nil {
		o.Free, o.Own = 0, nil
	}
}
