package actors

// PanicWorker makes a worker panic in the handling of a message, as an error of
// ours would.
func (n *Node) PanicWorker(id string) {
	pid := n.parts.system.NewLocalPID("node/worker/" + id + "/browser")
	n.parts.system.Root.Send(pid, (*workerCancel)(nil))
}

// Sessions returns how many session actors there are.
func (n *Node) Sessions() int {
	sessions := 0
	for _, bucket := range n.parts.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range bucket.Keys() {
			if len(id) > 8 && id[:8] == "session/" {
				sessions++
			}
		}
	}
	return sessions
}
