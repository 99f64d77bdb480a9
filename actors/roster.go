package actors

import (
	"container/list"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// seat is a worker as pool sees it: what its last note said, and the claim that
// was sent to it. The worker alone knows better.
type workerSlot struct {
	spec api.WorkerSpec
	pid  *actor.PID

	// heard: it has spoken. Before that nobody may be there, and the library
	// does not allow that an actor is written to while it is being spawned.
	heard    bool
	status   workerStatus
	since    time.Time
	used     time.Time    // when its last task ended; zero: never
	seq      uint64       // of the last claim sent to it
	job      *job         // the claim that is not known to be over
	setAside *job         // what it is put aside for: a session that comes from another worker
	asking   []*actor.PID // who else wants that session here

	draining bool           // it was told to take no more tasks
	removal  *workerRemoval // it is being removed; nil: it stays

	in     *list.List // the list of free workers it stands in
	at     *list.Element
	holder string // the account whose session it counts for

	shared *sharedBrowser // the browser that it shares; nil: it has its own
	last   string         // the account whose task it was sent last
}

// roster is all the workers of the node, in the orders that selecting needs.
// Each of its operations takes the same time with ten workers and with ten
// thousand.
type roster struct {
	slots    map[string]*workerSlot
	all      []*workerSlot         // as configured, then as they were added
	ready    map[string]*list.List // free workers by owner, last used first
	cleaning map[string]*list.List // free workers that are not clean yet, by owner
	sessions map[string]*workerSlot
	held     map[string]map[*workerSlot]bool // by account: seats with a session, or with a claim that opens one
	browsers map[string]*sharedBrowser
	kept     map[string]int // shared browsers by the account that they serve
	opened   bool           // workers of shared browsers may be open to those they were not open to
	shared   int            // workers without an owner that stay
	owned    map[string]int
	states   map[api.State]int
}

func newRoster(specs []api.WorkerSpec, pid func(api.WorkerSpec) *actor.PID, now time.Time) *roster {
	r := &roster{
		slots: map[string]*workerSlot{}, ready: map[string]*list.List{}, cleaning: map[string]*list.List{},
		browsers: map[string]*sharedBrowser{}, kept: map[string]int{},
		sessions: map[string]*workerSlot{}, held: map[string]map[*workerSlot]bool{}, owned: map[string]int{}, states: map[api.State]int{},
	}
	for _, spec := range specs {
		r.add(spec, pid(spec), now)
	}
	return r
}

// add makes a seat for a worker that has not said a word yet.
func (r *roster) add(spec api.WorkerSpec, pid *actor.PID, now time.Time) *workerSlot {
	s := &workerSlot{spec: spec, pid: pid, since: now, status: workerStatus{Worker: spec.ID, State: api.Offline}}
	r.slots[spec.ID] = s
	r.all = append(r.all, s)
	r.states[api.Offline]++
	r.count(s, 1)
	if spec.Browser != "" {
		if r.browsers[spec.Browser] == nil {
			r.browsers[spec.Browser] = new(sharedBrowser)
		}
		s.shared = r.browsers[spec.Browser]
		s.shared.seats = append(s.shared.seats, s)
	}
	return s
}

// leave begins the end of a worker: nothing may be reserved on it any more, and
// what is does not count.
func (r *roster) leave(s *workerSlot) {
	s.removal, s.draining = &workerRemoval{}, true
	r.count(s, -1)
	r.reorder(s)
}

// stay takes back leave. The worker stays drained.
func (r *roster) stay(s *workerSlot) {
	s.removal = nil
	r.count(s, 1)
	r.reorder(s)
}

// drop takes away the seat of a worker that has left.
func (r *roster) drop(s *workerSlot) {
	delete(r.slots, s.spec.ID)
	if l := s.shared; l != nil {
		l.seats = slices.DeleteFunc(l.seats, func(o *workerSlot) bool { return o == s })
	}
	r.all = slices.DeleteFunc(r.all, func(o *workerSlot) bool { return o == s })
	r.states[s.status.State]--
	if s.status.Session != "" {
		delete(r.sessions, s.status.Session)
	}
	s.status = workerStatus{Worker: s.spec.ID, State: api.Offline}
	r.reorder(s) // in no list, for no account
}

func (r *roster) count(s *workerSlot, n int) {
	if s.spec.Owner == "" {
		r.shared += n
	} else if r.owned[s.spec.Owner] += n; r.owned[s.spec.Owner] == 0 {
		delete(r.owned, s.spec.Owner)
	}
}

// named finds a worker by its identifier or its name.
func (r *roster) named(who string) *workerSlot {
	if s := r.slots[who]; s != nil {
		return s
	}
	for _, s := range r.all {
		if s.spec.Name == who {
			return s
		}
	}
	return nil
}

// apply takes over a note. It returns the worker's seat and the claim that is
// over with it; no seat if the note is out of date.
func (r *roster) apply(n workerStatus, now time.Time) (s *workerSlot, over *job) {
	s = r.slots[n.Worker]
	if s == nil || n.Seq < s.seq {
		return nil, nil
	}
	if s.status.State != n.State {
		r.states[s.status.State]--
		r.states[n.State]++
		s.since = now
	}
	if s.status.Session != n.Session {
		delete(r.sessions, s.status.Session)
		if n.Session != "" {
			r.sessions[n.Session] = s
		}
	}
	s.status = n
	if s.job != nil && s.job.task() != n.Task {
		over, s.job, s.used = s.job, nil, now
	}
	r.reorder(s)
	return s, over
}

// assign notes that a claim was sent.
func (r *roster) assign(s *workerSlot, j *job) {
	s.seq++
	s.job, j.slot, s.last = j, s, j.account()
	r.reorder(s)
}

// release notes that a claim came back.
func (r *roster) release(j *job) {
	if s := j.slot; s != nil && s.job == j {
		s.job = nil
		r.reorder(s)
	}
	j.slot = nil
}

// settle puts a seat where it belongs after a change.
func (r *roster) reorder(s *workerSlot) {
	r.assignBrowser(s)
	r.place(s)
	r.hold(s)
}

// place puts a seat into the list of free workers that it belongs to.
func (r *roster) place(s *workerSlot) {
	want := r.listOf(s)
	if s.in != want {
		if s.in != nil {
			s.in.Remove(s.at)
		}
		s.in, s.at = want, nil
		if want != nil {
			s.at = insert(want, s)
		}
	}
}

// hold counts a seat for the account whose session it has or is to get.
func (r *roster) hold(s *workerSlot) {
	holder := s.status.Holder
	if holder == "" && s.job != nil && s.job.opens() {
		holder = s.job.account()
	}
	if holder == "" && s.setAside != nil {
		holder = s.setAside.account()
	}
	if s.removal != nil {
		holder = ""
	}
	if holder != s.holder {
		if delete(r.held[s.holder], s); len(r.held[s.holder]) == 0 {
			delete(r.held, s.holder)
		}
		if holder != "" {
			if r.held[holder] == nil {
				r.held[holder] = map[*workerSlot]bool{}
			}
			r.held[holder][s] = true
		}
		s.holder = holder
	}
}

func (r *roster) listOf(s *workerSlot) *list.List {
	lists := r.ready
	switch {
	case s.job != nil || s.setAside != nil || !s.status.Claimable:
		return nil
	case !s.status.Ready:
		lists = r.cleaning
	}
	who := s.spec.Owner
	if s.shared != nil && s.shared.guest != "" {
		who = kept(s.shared.guest)
	}
	l := lists[who]
	if l == nil {
		l = list.New()
		lists[who] = l
	}
	return l
}

// insert keeps a list ordered by last use. Nearly always the place is one of
// the ends.
func insert(l *list.List, s *workerSlot) *list.Element {
	if s.used.IsZero() {
		return l.PushBack(s)
	}
	for e := l.Front(); e != nil; e = e.Next() {
		if !e.Value.(*workerSlot).used.After(s.used) {
			return l.InsertBefore(s, e)
		}
	}
	return l.PushBack(s)
}

// free selects a worker for an account: one that is ready before one that is
// being cleaned, its own before a shared one. Of the ready ones the last used
// comes first, of the others the one that is cleaned the longest. Shared ones
// are left out when the account may reserve no more of them; among these, those
// of a browser that is kept for the account come first, where it may lodge.
func (r *roster) free(account string, shared bool, lodge func(*workerSlot) bool) *workerSlot {
	owners := []string{account, kept(account), ""}
	if !shared {
		owners = owners[:1]
	}
	for _, owner := range owners {
		if l := r.ready[owner]; l != nil {
			for e := l.Front(); e != nil; e = e.Next() {
				if s := e.Value.(*workerSlot); lodge(s) {
					return s
				}
			}
		}
	}
	for _, owner := range owners {
		if l := r.cleaning[owner]; l != nil {
			for e := l.Back(); e != nil; e = e.Prev() {
				if s := e.Value.(*workerSlot); lodge(s) {
					return s
				}
			}
		}
	}
	return nil
}

// mayOpen says whether an account may open one more session, at all and on a
// shared worker.
func (r *roster) mayOpen(account string, limits engine.Limits, perMil int) (some, shared bool) {
	total, onShared := len(r.held[account]), 0
	for s := range r.held[account] {
		if s.spec.Owner == "" {
			onShared++
		}
	}
	some = total < limits.Reserved
	return some, some && onShared < r.shareOf(perMil)
}

// shareOf is how many of the shared workers the sessions of one account may hold.
func (r *roster) shareOf(perMil int) int { return max(1, r.shared*perMil/1000) }

// reserved finds a worker that the account's override may take over: one that
// is reserved, else any that it holds.
func (r *roster) reserved(account string) *workerSlot {
	var best *workerSlot
	for s := range r.held[account] {
		if s.status.Session == "" {
			continue
		}
		idle := s.job == nil && s.status.State == api.Reserved
		switch {
		case best == nil:
			best = s
		case idle && (best.job != nil || best.status.State != api.Reserved):
			best = s
		case idle && s.used.Before(best.used):
			best = s
		}
	}
	return best
}
