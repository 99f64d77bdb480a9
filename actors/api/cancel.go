package api

import "troupe/engine"

// Cancel asks for a waiting or running task to end.
type Cancel struct {
	TaskID  string  `json:"TaskID"`
	Account Account `json:"Account"`
	Cause   Cause   `json:"Cause"`
}

// Cause says why a task is to end early. Causes are words and not errors because
// they cross processes.
type Cause string

// The causes of a cancellation.
const (
	CauseClient Cause = "client" // the client went away
	CauseAsked  Cause = "asked"  // somebody asked for it
	CauseDrain  Cause = "drain"  // the service stops, or the worker is removed
	// CauseRemoved tells that the account was removed.
	CauseRemoved Cause = "removed"
	// CauseLeaseLost tells that the task's session may belong to another node by
	// now.
	CauseLeaseLost Cause = "unheld"
)

// Err returns the cause as the error that the task's context ends with.
func (c Cause) Err() error {
	switch c {
	case CauseClient:
		return engine.ErrClientGone
	case CauseDrain, CauseLeaseLost:
		return engine.ErrDraining
	default:
		return engine.ErrCancelled
	}
}

// Cancelled answers [Cancel]: whether there was such a task to end.
type Cancelled struct {
	Found bool `json:"Found"`
}

func (*Cancel) reply(*Cancelled) {}

var _ = define(definition[Cancel, Cancelled]{
	number: 8, reply: 9,
	task: &taskDefinition[Cancel, Cancelled]{
		id:    func(m *Cancel) string { return m.TaskID },
		found: func(x *Cancelled) bool { return x.Found },
		at:    func(*Cancelled) string { return "" },
		lost:  func(*Polled) *Cancelled { return &Cancelled{} },
	},
})
