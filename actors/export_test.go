package actors

import (
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
)

// Decorate puts something around the contexts of a node's actors.
func Decorate(c *Config, d actor.ContextDecorator) { c.decorate = d }

// TellAgain asks a worker to report its status again, as pool does after a panic.
func (n *Node) TellAgain(worker string) {
	n.parts.system.Root.Send(n.parts.workerPID(worker), &workerReport{})
}

// PanicWorker makes a worker panic in the handling of a message, as an error of
// ours would.
func (n *Node) PanicWorker(id string) {
	n.parts.system.Root.Send(n.parts.workerPID(id), (*workerCancel)(nil))
}

// Sessions returns how many session actors there are.
func (n *Node) Sessions() int { return n.Actors("session/") }

// Actors returns how many actors there are whose names begin so.
func (n *Node) Actors(prefix string) (found int) {
	for _, bucket := range n.parts.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range bucket.Keys() {
			if strings.HasPrefix(id, prefix) {
				found++
			}
		}
	}
	return found
}

// AgainMost is how many repeated requests of an account may wait.
const AgainMost = api.MaxRepeats
