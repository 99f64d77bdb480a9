package api

import (
	"errors"
	"fmt"
	"time"

	"troupe/persistence"
)

// WorkerInfo is what others may know of a worker.
type WorkerInfo struct {
	ID      string    `json:"ID"`
	Name    string    `json:"Name"`
	State   State     `json:"State"`
	Since   time.Time `json:"Since"`
	Owner   string    `json:"Owner"`   // account, or empty for the shared pool
	Session string    `json:"Session"` // only for the account that holds it
	TaskID  string    `json:"TaskID"`  // only for the account that runs it
	// Draining: it takes no more tasks. It is drained when it is offline, too.
	Draining bool `json:"Draining"`
	// Added: it was added to the node while this ran, or an earlier one of the
	// same store. The others came with the configuration.
	Added bool `json:"Added"`
	// Account is whose session or task it has. Only operators see it.
	Account string `json:"Account"`
	// Node is the node that has it, in a cluster. Only operators see it.
	Node string `json:"Node"`
	// Held says more of its session, where the account that holds it asks for its workers; nil
	// elsewhere, and from nodes of earlier releases.
	Held *HeldSession `json:"Held,omitempty"`
}

// HeldSession is what the account of a session may know of it.
type HeldSession struct {
	Opened  time.Time     `json:"Opened"`
	Expires time.Time     `json:"Expires,omitzero"` // if nobody uses it; zero: a task runs, and its time stands
	Timeout time.Duration `json:"Timeout"`
	Label   string        `json:"Label,omitempty"`
	Profile HeldProfile   `json:"Profile,omitzero"` // no name: it has none
}

// HeldProfile is the profile of a session.
type HeldProfile struct {
	Name     string    `json:"Name"`
	Readonly bool      `json:"Readonly,omitempty"` // it is not saved
	Version  int       `json:"Version,omitempty"`  // that the session has begun with or saved last; zero: none yet
	Saved    time.Time `json:"Saved,omitzero"`     // when the session has saved it last
	Lost     string    `json:"Lost,omitempty"`     // why it is not saved any more
}

// State is what a worker is doing.
type State string

// The states of a worker.
const (
	Online   State = "online"
	Reserved State = "reserved"
	Busy     State = "busy"
	Offline  State = "offline"
)

// WorkerChanged answers what changes a worker: the worker as it is now, or why
// nothing was changed.
type WorkerChanged struct {
	Worker WorkerInfo `json:"Worker"`
	Fault  string     `json:"Fault"`
	// NoQuorum: the fault is that the nodes have no majority to write it down.
	NoQuorum bool `json:"NoQuorum"`
}

// Changed makes the reply of a change.
func Changed(w WorkerInfo, err error) *WorkerChanged {
	if err != nil {
		return &WorkerChanged{Fault: err.Error(), NoQuorum: errors.Is(err, persistence.ErrNoQuorum)}
	}
	return &WorkerChanged{Worker: w}
}

// Err returns why nothing was changed.
func (c *WorkerChanged) Err() error {
	switch {
	case c.NoQuorum:
		return fmt.Errorf("%w: %s", persistence.ErrNoQuorum, c.Fault)
	case c.Fault != "":
		return errors.New(c.Fault)
	}
	return nil
}

func workerFailed[M any](*M, *Refusal) *WorkerChanged { return &WorkerChanged{Fault: FailedInside} }

func workerFrom(c *WorkerChanged, node string) { c.Worker.Node = node }

// WorkerSpec describes one worker.
type WorkerSpec struct {
	ID    string // opaque, URL-safe, 20 characters or fewer; see WorkerID
	Name  string // for people
	Owner string // account, or empty for the shared pool
	// Browser names the browser that the worker shares with others of the same name.
	// They serve one account at a time. Empty: it has its own.
	Browser string

	Added bool // it has a record of its own
}
