package api

import (
	"fmt"
	"time"

	"troupe/persistence"
)

// AddWorker asks for one more worker. It is written down, and so starts again
// with each later start of the node. The reply comes when it is on disk; its
// browser comes up after that.
type AddWorker struct {
	Name  string `json:"Name"`
	Owner string `json:"Owner"` // account, or empty for the shared pool
	Node  string `json:"Node"`  // that gets it, where there are several; empty: the one that is asked
}

func (*AddWorker) reply(*WorkerChanged) {}

// WriteTimeout bounds one change of what is on disk: the store has its own
// timeout, and there is some time before and after it.
const WriteTimeout = persistence.Patience + 3*time.Second

var _ = define(definition[AddWorker, WorkerChanged]{
	number: 20, reply: 24, failed: workerFailed[AddWorker], from: workerFrom,
	takes: func(*AddWorker) time.Duration { return WriteTimeout },
	node:  func(m *AddWorker) *string { return &m.Node },
	check: func(m *AddWorker, all []WorkerInfo) error {
		for _, w := range all {
			if w.Name == m.Name {
				return fmt.Errorf("there is a worker %q already, at %s", m.Name, w.Node)
			}
		}
		return nil
	},
})
