package actors

import "strings"

// PanicWorker makes a worker panic in the handling of a message, as an error of
// ours would.
func (n *Node) PanicWorker(id string) {
	n.parts.system.Root.Send(n.parts.browserOf(id), (*workerCancel)(nil))
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
