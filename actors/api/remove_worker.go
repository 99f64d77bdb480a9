package api

import "time"

// RemoveWorker ends a worker that was added: a drain, after which its session
// ends, its browser is closed and its record is removed. A task that still runs
// when the grace is over is interrupted. The reply comes when all is done.
type RemoveWorker struct {
	Worker string        `json:"Worker"` // identifier or name
	Grace  time.Duration `json:"Grace"`
}

func (*RemoveWorker) reply(*WorkerChanged) {}

// removalMargin is how long the removal of a worker may take after its grace: a
// browser has to be closed and a record removed.
const removalMargin = 30 * time.Second

var _ = define(definition[RemoveWorker, WorkerChanged]{
	number: 23, reply: 24, failed: workerFailed[RemoveWorker], from: workerFrom,
	takes:  func(m *RemoveWorker) time.Duration { return m.Grace + removalMargin },
	worker: func(m *RemoveWorker) *string { return &m.Worker },
})
