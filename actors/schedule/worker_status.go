package schedule

import "troupe/actors/api"

// note tells pool what a worker has become. One that does not know of pool's
// last claim is out of date, and pool ignores it.
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
