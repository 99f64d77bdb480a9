package schedule

import (
	"container/list"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
)

// Roster is all workers of the node, in the orders that selecting needs. Its
// operations take the same time with ten workers and with ten thousand.
type Roster struct {
	Slots         map[string]*Slot
	All           []*Slot               // as configured, then as they were added
	ready         map[string]*list.List // free workers by owner, last used first
	cleaning      map[string]*list.List // free workers that are not clean yet, by owner
	Sessions      map[string]*Slot
	Held          map[string]map[*Slot]bool // by account: slots with a session, or with a claim that opens one
	Browsers      map[string]*SharedBrowser
	browserCounts map[string]int // shared browsers by the account that they serve
	ServeAll      bool           // workers of shared browsers may be open to those they were not open to
	PreferLast    bool           // browsers stay with the account that they have served last
	shared        int            // workers without an owner that stay
	Owned         map[string]int
	States        map[api.State]int
}

// NewRoster makes a roster with a slot for each worker.
func NewRoster(specs []api.WorkerSpec, pid func(api.WorkerSpec) *actor.PID, now time.Time) *Roster {
	r := &Roster{
		Slots: map[string]*Slot{}, ready: map[string]*list.List{}, cleaning: map[string]*list.List{},
		Browsers: map[string]*SharedBrowser{}, browserCounts: map[string]int{},
		Sessions: map[string]*Slot{}, Held: map[string]map[*Slot]bool{}, Owned: map[string]int{}, States: map[api.State]int{},
	}
	for _, spec := range specs {
		r.Add(spec, pid(spec), now)
	}
	return r
}

// Add makes a slot for a worker that has not reported yet.
func (r *Roster) Add(spec api.WorkerSpec, pid *actor.PID, now time.Time) *Slot {
	s := &Slot{Spec: spec, PID: pid, since: now, Status: WorkerStatus{Worker: spec.ID, State: api.Offline}}
	r.Slots[spec.ID] = s
	r.All = append(r.All, s)
	r.States[api.Offline]++
	r.count(s, 1)
	if spec.Browser != "" {
		if r.Browsers[spec.Browser] == nil {
			r.Browsers[spec.Browser] = new(SharedBrowser)
		}
		s.Shared = r.Browsers[spec.Browser]
		s.Shared.Slots = append(s.Shared.Slots, s)
	}
	return s
}

// StartRemoval begins the removal of a worker: it takes no more reservations, and
// those it has do not count.
func (r *Roster) StartRemoval(s *Slot) {
	s.Removal, s.Draining = &Removal{}, true
	r.count(s, -1)
	r.Reorder(s)
}

// CancelRemoval takes StartRemoval back. The worker stays drained.
func (r *Roster) CancelRemoval(s *Slot) {
	s.Removal = nil
	r.count(s, 1)
	r.Reorder(s)
}

// Remove takes the slot of a removed worker out.
func (r *Roster) Remove(s *Slot) {
	delete(r.Slots, s.Spec.ID)
	if l := s.Shared; l != nil {
		l.Slots = slices.DeleteFunc(l.Slots, func(o *Slot) bool { return o == s })
	}
	r.All = slices.DeleteFunc(r.All, func(o *Slot) bool { return o == s })
	r.States[s.Status.State]--
	if s.Status.Session != "" {
		delete(r.Sessions, s.Status.Session)
	}
	s.Status = WorkerStatus{Worker: s.Spec.ID, State: api.Offline}
	r.Reorder(s) // in no list, for no account
}

func (r *Roster) count(s *Slot, n int) {
	if s.Spec.Owner == "" {
		r.shared += n
	} else if r.Owned[s.Spec.Owner] += n; r.Owned[s.Spec.Owner] == 0 {
		delete(r.Owned, s.Spec.Owner)
	}
}

// Named finds a worker by its identifier or its name.
func (r *Roster) Named(who string) *Slot {
	if s := r.Slots[who]; s != nil {
		return s
	}
	for _, s := range r.All {
		if s.Spec.Name == who {
			return s
		}
	}
	return nil
}

// Apply stores a reported status. It returns the worker's slot and the claim that
// ended with it; no slot if the report is out of date.
func (r *Roster) Apply(n WorkerStatus, now time.Time) (s *Slot, over *Job) {
	s = r.Slots[n.Worker]
	if s == nil || n.Seq < s.Seq {
		return nil, nil
	}
	if s.Status.State != n.State {
		r.States[s.Status.State]--
		r.States[n.State]++
		s.since = now
	}
	if s.Status.Session != n.Session {
		delete(r.Sessions, s.Status.Session)
		if n.Session != "" {
			r.Sessions[n.Session] = s
		}
	}
	s.Status = n
	if s.Job != nil && s.Job.Task() != n.Task {
		over, s.Job, s.used = s.Job, nil, now
	}
	r.Reorder(s)
	return s, over
}

// Assign records that a claim was sent.
func (r *Roster) Assign(s *Slot, j *Job) {
	s.Seq++
	s.Job, j.Slot, s.last = j, s, j.Account()
	r.Reorder(s)
}

// Release records that a claim came back.
func (r *Roster) Release(j *Job) {
	if s := j.Slot; s != nil && s.Job == j {
		s.Job = nil
		r.Reorder(s)
	}
	j.Slot = nil
}

// Reorder moves a slot to where it belongs after a change.
func (r *Roster) Reorder(s *Slot) {
	r.assignBrowser(s)
	r.place(s)
	r.countHolder(s)
}

// place moves a slot into the list of free workers that it belongs to.
func (r *Roster) place(s *Slot) {
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

// countHolder counts a slot for the account whose session it has or is about to
// get.
func (r *Roster) countHolder(s *Slot) {
	holder := s.Status.Holder
	if holder == "" && s.Job != nil && s.Job.OpensSession() {
		holder = s.Job.Account()
	}
	if holder == "" && s.ReservedFor != nil {
		holder = s.ReservedFor.Account()
	}
	if s.Removal != nil {
		holder = ""
	}
	if holder != s.Holder {
		if delete(r.Held[s.Holder], s); len(r.Held[s.Holder]) == 0 {
			delete(r.Held, s.Holder)
		}
		if holder != "" {
			if r.Held[holder] == nil {
				r.Held[holder] = map[*Slot]bool{}
			}
			r.Held[holder][s] = true
		}
		s.Holder = holder
	}
}

func (r *Roster) listOf(s *Slot) *list.List {
	lists := r.ready
	switch {
	case s.Job != nil || s.ReservedFor != nil || !s.Status.Claimable:
		return nil
	case !s.Status.Ready:
		lists = r.cleaning
	}
	who := s.Spec.Owner
	if s.Shared != nil && s.Shared.Account != "" {
		who = browserOf(s.Shared.Account)
	}
	l := lists[who]
	if l == nil {
		l = list.New()
		lists[who] = l
	}
	return l
}

// insert keeps a list ordered by last use. The place is nearly always one of the
// ends.
func insert(l *list.List, s *Slot) *list.Element {
	if s.used.IsZero() {
		return l.PushBack(s)
	}
	for e := l.Front(); e != nil; e = e.Next() {
		if !e.Value.(*Slot).used.After(s.used) {
			return l.InsertBefore(s, e)
		}
	}
	return l.PushBack(s)
}
