package link

import (
	"slices"
	"time"

	"troupe/actors/api"
)

// Inventory is a node's report to the others, soon after each change, and repeatedly
// without one. It is a hint of known age: the workers themselves decide.
type Inventory struct {
	Node     string           `json:"Node"`
	Boot     string           `json:"Boot"` // of the process: another one has lost what this one was asked
	Version  string           `json:"Version"`
	Sent     time.Time        `json:"Sent"`
	Leaving  bool             `json:"Leaving"` // the node ends in good order
	Draining bool             `json:"Draining"`
	Waiting  int              `json:"Waiting"` // its own requests that wait for a worker
	Workers  []api.WorkerInfo `json:"Workers"`
	Held     map[string]int64 `json:"Held,omitempty"`   // of the accounts' day, and not used yet
	Store    *Health          `json:"Store,omitempty"`  // missing: the node's release says nothing of it
	Speaks   *Speaks          `json:"Speaks,omitempty"` // missing: see [Inventory.Release]
	Began    time.Time        `json:"Began,omitzero"`   // the process; missing: the node's release does not say
	Role     string           `json:"Role,omitempty"`   // missing: the node keeps the store, or may
	Last     *LastTasks       `json:"Last,omitempty"`   // of a node that leaves; missing: it does not say
}

// LastTasks says what a node that leaves has done for others. It receives nothing any more,
// and has answered what it received.
type LastTasks struct {
	Begun  []string      `json:"Begun,omitempty"` // those that it did not refuse and that ended within this time
	Within time.Duration `json:"Within"`
}

// NotBegun reports whether a task that was sent to the node so long ago has certainly not
// begun there.
func (l *LastTasks) NotBegun(task string, sent time.Duration) bool {
	return l != nil && sent < l.Within && !slices.Contains(l.Begun, task)
}

// Health is how a node stands to the store that all nodes share.
type Health struct {
	State  string `json:"State"`            // as the store calls it
	Behind int64  `json:"Behind,omitempty"` // changes that the node's copy misses
}

// Capacity is the part that other nodes may use. It is empty if the node stops, or has
// no worker for its own clients.
func (i *Inventory) Capacity() *api.PeerCapacity {
	o := &api.PeerCapacity{Node: i.Node, Own: map[string]int{}, Held: map[string]int{}, Usable: i.Usable()}
	for _, w := range i.Workers {
		if w.Session != "" && w.Account != "" {
			o.Held[w.Account]++
		}
		switch {
		case i.Draining || i.Leaving || i.Waiting > 0 || w.Draining || w.State != api.Online || w.TaskID != "":
		case w.Owner == "":
			o.Free++
		default:
			o.Own[w.Owner]++
		}
	}
	return o
}

// fewFree is how many free workers are so few that each of them counts for
// others. Of the many worker nodes it counts only whether they have any.
const fewFree = 4

// RoleWorker is the role of worker nodes.
const RoleWorker = "worker"

// Changed reports whether the others need the inventory now, compared with the last one
// that they got. One more free worker among many can wait.
func (i *Inventory) Changed(told *Inventory) bool {
	if i.Draining != told.Draining || (i.Waiting > 0) != (told.Waiting > 0) || len(i.Workers) != len(told.Workers) || i.health() != told.health() {
		return true
	}
	for k, w := range i.Workers {
		v := told.Workers[k]
		if w.ID != v.ID || w.Session != v.Session || w.Owner != v.Owner || w.Draining != v.Draining ||
			(w.State == api.Offline) != (v.State == api.Offline) || w.Owner != "" && w.State != v.State {
			return true
		}
	}
	now, then := i.Capacity().Free, told.Capacity().Free
	few := fewFree
	if i.Role == RoleWorker {
		few = 0
	}
	return now != then && min(now, then) <= few
}

// Usable is how many of its workers have a browser.
func (i *Inventory) Usable() (n int) {
	if i.Draining || i.Leaving {
		return 0
	}
	for _, w := range i.Workers {
		if w.State != api.Offline {
			n++
		}
	}
	return n
}

func (i *Inventory) health() string {
	if i.Store == nil {
		return ""
	}
	return i.Store.State
}
