package api

import (
	"context"
	"fmt"
	"time"
)

// Request is the message of a verb whose reply is an R, see [Ask].
type Request[R any] interface{ reply(*R) }

// Doer carries verbs out: a node, all nodes of a cluster, or what is on the disk of
// a node that does not run. It takes the message of a verb and gives a pointer to
// its reply; [Ask] does so in their types.
type Doer interface {
	Do(ctx context.Context, m any) (any, error)
}

// Ask has a message carried out and returns its reply. A reply that says that
// nothing was done is an error.
func Ask[R any](ctx context.Context, d Doer, m Request[R]) (*R, error) {
	got, err := d.Do(ctx, m)
	if err != nil {
		return nil, err
	}
	r, ok := got.(*R)
	if !ok {
		return nil, fmt.Errorf("ask %T: the reply is a %T", m, got)
	}
	if f, ok := got.(interface{ Err() error }); ok {
		if err := f.Err(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Verb is what is known of one message: its reply, and where it goes in a cluster.
// Without Worker, Node, Queue, Task and All it is for the node that is asked.
type Verb struct {
	// Takes is how long its handling may take; short where it is zero.
	Takes func(m any) time.Duration
	// Failed is the reply where its handling panicked; nil: an error is sent.
	Failed func(m any, no *Refusal) any
	// IsReply reports whether something is a reply of this verb.
	IsReply func(any) bool
	// Copy returns a message that may be changed.
	Copy func(m any) any

	// Worker is where the message names its worker, by identifier or name: it goes
	// to the node that has it, with the identifier.
	Worker func(m any) *string
	// Node is where the message names its node; empty: the one that is asked. It
	// goes there without the name.
	Node func(m any) *string
	// Check looks at the workers of all nodes before a message with a Node goes
	// there.
	Check func(m any, all []WorkerInfo) error
	// From sets in a reply which node it came from.
	From func(reply any, node string)

	// Queue: it goes to the node that orders the queue.
	Queue bool
	// Again reports whether such a message may be sent again where it is unknown whether it
	// has arrived; nil: none may.
	Again func(m any) bool

	Task *TaskVerb
	All  *AllVerb
}

// TaskVerb is a verb about a task, wherever that is.
type TaskVerb struct {
	ID    func(m any) string
	Found func(reply any) bool   // the node that replied has the task
	At    func(reply any) string // the node that the reply says has it; empty: it does not say
	// Record asks for the task's record where the task's node is down; nil: the
	// reply does not depend on it.
	Record func(m any) *Poll
	Lost   func(p *Polled) any // the reply then, by that record
}

// AllVerb is a verb for all nodes at once.
type AllVerb struct {
	// Merge makes one reply of those of the nodes, which come in the order of their
	// names.
	Merge func(m any, parts []Part) any
	// Absent is assumed to be the reply of a node that is down and had these
	// workers; nil: it is left out.
	Absent func(m any, last []WorkerInfo) any
	// Later: a node that is down gets the message when it is back. One node that
	// fails makes the verb fail.
	Later bool
}

// Part is the reply of one node.
type Part struct {
	Node  string
	Reply any
}
