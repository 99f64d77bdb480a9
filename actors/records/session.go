package records

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"troupe/engine"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// The keys of sessions, and of their states, begin so.
const (
	SessionPrefix = "session/"
	StatePrefix   = "session-state/"
)

var _ = sealed.Register(sealed.Kind{Prefix: StatePrefix, Holds: "saved sessions"})

var (
	_ = owned.Register(owned.Kind{Prefix: SessionPrefix, By: owned.Value})
	_ = owned.Register(owned.Kind{Prefix: StatePrefix, By: owned.Parent, Of: SessionPrefix})
)

// maxSessionID bounds the identifiers that are looked up: no session has a longer one.
const maxSessionID = 64

// SessionGrace is how long a session's record is kept after its time is over, for
// the next start of the service, which ends the session.
const SessionGrace = 24 * time.Hour

// Session is the record of a session, without its state.
type Session struct {
	ID       string        `json:"id"`
	Account  string        `json:"account"`
	Worker   string        `json:"worker"`
	Node     string        `json:"node,omitempty"`   // whose it is
	Epoch    uint64        `json:"epoch,omitempty"`  // another one with each owner
	State    uint64        `json:"state,omitempty"`  // the epoch that its state was saved in
	Former   []string      `json:"former,omitempty"` // the workers that it had before
	Timeout  time.Duration `json:"timeout"`
	Started  time.Time     `json:"started"`
	Until    time.Time     `json:"until,omitzero"` // it ends then in any case
	Deadline time.Time     `json:"deadline"`       // it ends then if nobody uses it
	Saved    time.Time     `json:"saved"`
	Label    string        `json:"label,omitempty"` // for people

	Profile *SessionProfile `json:"profile,omitempty"` // nil: none
}

// SessionProfile is the profile of a session.
type SessionProfile struct {
	Name    string    `json:"name"`
	By      string    `json:"by,omitempty"`      // whom the right to save it names; empty: it is not saved
	Version int       `json:"version,omitempty"` // what the session has begun with or has saved last; zero: nothing yet
	Saved   time.Time `json:"saved,omitzero"`    // when the session has saved it last
	Sites   []string  `json:"sites,omitempty"`   // those of its versions
	Secrets []string  `json:"secrets,omitempty"` // the names of those that its first version had
	Lost    string    `json:"lost,omitempty"`    // why it is not saved any more
}

// SessionState is what a session needs to go on in another browser. It is stored
// sealed, because it has the cookies of a login.
type SessionState struct {
	Browser json.RawMessage `json:"browser,omitempty"` // nothing: a new one will do
	Cache   *engine.Cache   `json:"cache"`
}

// DeadlineFrom says when a session ends that is not used any more from now on.
func (r *Session) DeadlineFrom(now time.Time) time.Time {
	if end := now.Add(r.Timeout); r.Until.IsZero() || end.Before(r.Until) {
		return end
	}
	return r.Until
}

// AdjustClock corrects the times of a record from the future, as if it were
// written now: the clock was set back while the service was off.
func (r *Session) AdjustClock(now time.Time) {
	ahead := r.Saved.Sub(now)
	if ahead <= 0 {
		return
	}
	r.Saved, r.Started, r.Deadline = now, r.Started.Add(-ahead), r.Deadline.Add(-ahead)
	if !r.Until.IsZero() {
		r.Until = r.Until.Add(-ahead)
	}
}

// TakenBy is the record of a session that a node takes over, from another node or
// from its own earlier process.
func (r Session) TakenBy(node, worker string) Session {
	if worker != r.Worker {
		r.Former = append(slices.Clone(r.Former), r.Worker)
	}
	r.Node, r.Worker, r.Epoch = node, worker, r.Epoch+1
	return r
}

// HadWorker reports whether a worker has or had the session.
func (r *Session) HadWorker(worker string) bool {
	return r.Worker == worker || slices.Contains(r.Former, worker)
}

// SameOwner reports whether two records are of the same ownership.
func (r *Session) SameOwner(o Session) bool { return r.Node == o.Node && r.Epoch == o.Epoch }

// StateKey is where the state is that was saved in an epoch. Each epoch has its
// own place, so that a former owner that does not know of its successor cannot
// overwrite the successor's state.
func StateKey(id string, epoch uint64) string {
	if epoch == 0 {
		return StatePrefix + id
	}
	return fmt.Sprintf("%s%s/%d", StatePrefix, id, epoch)
}
