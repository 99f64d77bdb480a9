package actors

import (
	"errors"
	"fmt"
	"time"

	"troupe/persistence"
)

// What the operator asks of a node.

// SurveyWorkers asks for all workers, whoever they belong to. Reply: [Workers].
type SurveyWorkers struct{}

// AddWorker asks for one more worker. It is written down, and so starts again
// with each later start of the node. Reply: [WorkerChanged], when it is on disk;
// its browser comes up after that.
type AddWorker struct {
	Name  string `json:"Name"`  // see [CheckWorkerName]
	Owner string `json:"Owner"` // account, or empty for the shared pool
	Node  string `json:"Node"`  // that gets it, where there are several; empty: the one that is asked
}

// DrainWorker tells a worker to take no more tasks. The one that runs goes on to
// its end; a session is saved, and goes on when the worker is resumed. It holds
// until then, or until the node starts again. Reply: [WorkerChanged], at once.
type DrainWorker struct {
	Worker string `json:"Worker"`
} // identifier or name

// ResumeWorker takes [DrainWorker] back. Reply: [WorkerChanged], at once.
type ResumeWorker struct {
	Worker string `json:"Worker"`
}

// RemoveWorker ends a worker that was added: a drain, after which its session
// ends, its browser is closed and its record is removed. A task that still runs
// when the grace is over is interrupted. Reply: [WorkerChanged], when all is
// done.
type RemoveWorker struct {
	Worker string        `json:"Worker"`
	Grace  time.Duration `json:"Grace"`
}

// WorkerChanged answers those: the worker as it is now, or why it is not as it
// was to be.
type WorkerChanged struct {
	Worker WorkerInfo `json:"Worker"`
	Fault  string     `json:"Fault"`
	// NoQuorum: the fault is that the nodes have no majority to write it down.
	NoQuorum bool `json:"NoQuorum"`
}

// Changed answers those, over whatever the order came.
func Changed(w WorkerInfo, err error) *WorkerChanged {
	if err != nil {
		return &WorkerChanged{Fault: err.Error(), NoQuorum: errors.Is(err, persistence.ErrNoQuorum)}
	}
	return &WorkerChanged{Worker: w}
}

// Result is what [Changed] was made of.
func (c *WorkerChanged) Result() (WorkerInfo, error) {
	switch {
	case c.NoQuorum:
		return WorkerInfo{}, fmt.Errorf("%w: %s", persistence.ErrNoQuorum, c.Fault)
	case c.Fault != "":
		return WorkerInfo{}, errors.New(c.Fault)
	}
	return c.Worker, nil
}

// RemoveAccount ends what an account has in the node: its tasks, sessions and
// workers. Requests of it are refused from then on. Reply: [AccountRemoved], when
// nothing of it goes on.
type RemoveAccount struct {
	Account string `json:"Account"`
}

// AccountRemoved answers [RemoveAccount] with how many of each were ended.
type AccountRemoved struct {
	Tasks    int    `json:"Tasks"` // running or waiting
	Sessions int    `json:"Sessions"`
	Workers  int    `json:"Workers"`
	Fault    string `json:"Fault"` // it could not be done
}

// Between pool, admission and the top.

// enlisted and struck tell admission who may name which worker.
type (
	enlisted struct{ Worker, Owner string }
	struck   struct{ Worker string }
)

// hire starts the actors of a worker, release ends them.
type (
	hire    struct{ spec WorkerSpec }
	release struct{ worker string }
)
