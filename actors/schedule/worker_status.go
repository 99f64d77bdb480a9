package schedule

import "troupe/actors/api"

// WorkerStatus is what a worker reports to pool. Pool ignores a status that does
// not know of pool's last claim.
type WorkerStatus struct {
	Worker    string
	Seq       uint64
	State     api.State
	Ready     bool // a claim would begin at once
	Claimable bool
	Session   string
	Holder    string
	Task      string
	Account   string
	Drained   bool // it has stopped for good: nothing runs and nothing is being saved
}
