package actors

import (
	"context"
	"time"
)

// Execute plays a task and returns its answer. When ctx ends first, the task is
// cancelled wherever it is, and the answer says so.
func (n *Node) Execute(ctx context.Context, m *Execute) (*Executed, error) { panic("being written") }

// Cancel ends a waiting or running task of the account.
func (n *Node) Cancel(ctx context.Context, m *Cancel) (*Cancelled, error) { panic("being written") }

// Workers lists the workers that the account may see.
func (n *Node) Workers(ctx context.Context, m *ListWorkers) (*Workers, error) { panic("being written") }

// Status returns the node in numbers without asking any actor.
func (n *Node) Status() Status { panic("being written") }

// Ready reports whether a request has a chance now.
func (n *Node) Ready() bool { return n.Status().Ready() }

// Drain takes no more tasks, lets running ones end until grace is over and
// interrupts the rest. It returns when no task runs any more. Calling it again
// does no harm.
func (n *Node) Drain(ctx context.Context, grace time.Duration) (*Drained, error) {
	panic("being written")
}

// Stop ends the node with everything it has started. Tasks that still run are
// interrupted. Calling it again does no harm.
func (n *Node) Stop() { panic("being written") }

// Node is a running set of actors.
type Node struct{}

// Start starts the actors. Browsers come up in the background: see Ready.
func Start(cfg Config) (*Node, error) {
	_, err := cfg.withDefaults()
	return &Node{}, err
}
