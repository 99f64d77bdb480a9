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
type seat struct {
	spec api.WorkerSpec
	pid  *actor.PID

	// heard: it has spoken. Before that nobody may be there, and the library
	// does not allow that an actor is written to while it is being spawned.
	heard  bool
	note   note
	since  time.Time
	used   time.Time    // when its last task ended; zero: never
	seq    uint64       // of the last claim sent to it
	job    *job         // the claim that is not known to be over
	aside  *job         // what it is put aside for: a session that comes from another worker
	asking []*actor.PID // who else wants that session here

	draining bool       // it was told to take no more tasks
	leaving  *departure // it is being removed; nil: it stays

	in     *list.List // the list of free workers it stands in
	at     *list.Element
	holder string // the account whose session it counts for

	lodging *lodging // the browser that it shares; nil: it has its own
	last    string   // the account whose task it was sent last
}

// roster is all the workers of the node, in the orders that selecting needs.
// Each of its operations takes the same time with ten workers and with ten
// thousand.
type roster struct {
	seats    map[string]*seat
	all      []*seat               // as configured, then as they were added
	ready    map[string]*list.List // free workers by owner, last used first
	cleaning map[string]*list.List // free workers that are not clean yet, by owner
	sessions map[string]*seat
	held     map[string]map[*seat]bool // by account: seats with a session, or with a claim that opens one
	lodgings map[string]*lodging
	homes    map[string]int // shared browsers by the account that they serve
	opened   bool           // workers of shared browsers may be open to those they were not open to
	shared   int            // workers without an owner that stay
	owned    map[string]int
	states   map[api.State]int
}

func newRoster(specs []api.WorkerSpec, pid func(api.WorkerSpec) *actor.PID, now time.Time) *roster {
	r := &roster{
		seats: map[string]*seat{}, ready: map[string]*list.List{}, cleaning: map[string]*list.List{},
		lodgings: map[string]*lodging{}, homes: map[string]int{},
		sessions: map[string]*seat{}, held: map[string]map[*seat]bool{}, owned: map[string]int{}, states: map[api.State]int{},
	}
	for _, spec := range specs {
		r.add(spec, pid(spec), now)
	}
	return r
}

// add makes a seat for a worker that has not said a word yet.
func (r *roster) add(spec api.WorkerSpec, pid *actor.PID, now time.Time) *seat {
	s := &seat{spec: spec, pid: pid, since: now, note: note{Worker: spec.ID, State: api.Offline}}
	r.seats[spec.ID] = s
	r.all = append(r.all, s)
	r.states[api.Offline]++
	r.count(s, 1)
	if spec.Browser != "" {
		if r.lodgings[spec.Browser] == nil {
			r.lodgings[spec.Browser] = new(lodging)
		}
		s.lodging = r.lodgings[spec.Browser]
		s.lodging.seats = append(s.lodging.seats, s)
	}
	return s
}

// leave begins the end of a worker: nothing may be reserved on it any more, and
// what is does not count.
func (r *roster) leave(s *seat) {
	s.leaving, s.draining = &departure{}, true
	r.count(s, -1)
	r.settle(s)
}

// stay takes back leave. The worker stays drained.
func (r *roster) stay(s *seat) {
	s.leaving = nil
	r.count(s, 1)
	r.settle(s)
}

// drop takes away the seat of a worker that has left.
func (r *roster) drop(s *seat) {
	delete(r.seats, s.spec.ID)
	if l := s.lodging; l != nil {
		l.seats = slices.DeleteFunc(l.seats, func(o *seat) bool { return o == s })
	}
	r.all = slices.DeleteFunc(r.all, func(o *seat) bool { return o == s })
	r.states[s.note.State]--
	if s.note.Session != "" {
		delete(r.sessions, s.note.Session)
	}
	s.note = note{Worker: s.spec.ID, State: api.Offline}
	r.settle(s) // in no list, for no account
}

func (r *roster) count(s *seat, n int) {
	if s.spec.Owner == "" {
		r.shared += n
	} else if r.owned[s.spec.Owner] += n; r.owned[s.spec.Owner] == 0 {
		delete(r.owned, s.spec.Owner)
	}
}

// named finds a worker by its identifier or its name.
func (r *roster) named(who string) *seat {
	if s := r.seats[who]; s != nil {
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
func (r *roster) apply(n note, now time.Time) (s *seat, over *job) {
	s = r.seats[n.Worker]
	if s == nil || n.Seq < s.seq {
		return nil, nil
	}
	if s.note.State != n.State {
		r.states[s.note.State]--
		r.states[n.State]++
		s.since = now
	}
	if s.note.Session != n.Session {
		delete(r.sessions, s.note.Session)
		if n.Session != "" {
			r.sessions[n.Session] = s
		}
	}
	s.note = n
	if s.job != nil && s.job.task() != n.Task {
		over, s.job, s.used = s.job, nil, now
	}
	r.settle(s)
	return s, over
}

// assign notes that a claim was sent.
func (r *roster) assign(s *seat, j *job) {
	s.seq++
	s.job, j.seat, s.last = j, s, j.account()
	r.settle(s)
}

// release notes that a claim came back.
func (r *roster) release(j *job) {
	if s := j.seat; s != nil && s.job == j {
		s.job = nil
		r.settle(s)
	}
	j.seat = nil
}

// settle puts a seat where it belongs after a change.
func (r *roster) settle(s *seat) {
	r.lodge(s)
	r.place(s)
	r.hold(s)
}

// place puts a seat into the list of free workers that it belongs to.
func (r *roster) place(s *seat) {
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
func (r *roster) hold(s *seat) {
	holder := s.note.Holder
	if holder == "" && s.job != nil && s.job.opens() {
		holder = s.job.account()
	}
	if holder == "" && s.aside != nil {
		holder = s.aside.account()
	}
	if s.leaving != nil {
		holder = ""
	}
	if holder != s.holder {
		if delete(r.held[s.holder], s); len(r.held[s.holder]) == 0 {
			delete(r.held, s.holder)
		}
		if holder != "" {
			if r.held[holder] == nil {
				r.held[holder] = map[*seat]bool{}
			}
			r.held[holder][s] = true
		}
		s.holder = holder
	}
}

func (r *roster) listOf(s *seat) *list.List {
	lists := r.ready
	switch {
	case s.job != nil || s.aside != nil || !s.note.Claimable:
		return nil
	case !s.note.Ready:
		lists = r.cleaning
	}
	who := s.spec.Owner
	if s.lodging != nil && s.lodging.guest != "" {
		who = kept(s.lodging.guest)
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
func insert(l *list.List, s *seat) *list.Element {
	if s.used.IsZero() {
		return l.PushBack(s)
	}
	for e := l.Front(); e != nil; e = e.Next() {
		if !e.Value.(*seat).used.After(s.used) {
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
func (r *roster) free(account string, shared bool, lodge func(*seat) bool) *seat {
	owners := []string{account, kept(account), ""}
	if !shared {
		owners = owners[:1]
	}
	for _, owner := range owners {
		if l := r.ready[owner]; l != nil {
			for e := l.Front(); e != nil; e = e.Next() {
				if s := e.Value.(*seat); lodge(s) {
					return s
				}
			}
		}
	}
	for _, owner := range owners {
		if l := r.cleaning[owner]; l != nil {
			for e := l.Back(); e != nil; e = e.Prev() {
				if s := e.Value.(*seat); lodge(s) {
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
func (r *roster) reserved(account string) *seat {
	var best *seat
	for s := range r.held[account] {
		if s.note.Session == "" {
			continue
		}
		idle := s.job == nil && s.note.State == api.Reserved
		switch {
		case best == nil:
			best = s
		case idle && (best.job != nil || best.note.State != api.Reserved):
			best = s
		case idle && s.used.Before(best.used):
			best = s
		}
	}
	return best
}
