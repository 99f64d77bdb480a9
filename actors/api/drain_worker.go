package api

// DrainWorker tells a worker to take no more tasks. The task that it runs goes on
// to its end. Its session is saved, and goes on when the worker is resumed. The
// drain holds until then, or until the node starts again. The reply comes at once.
type DrainWorker struct {
	Worker string `json:"Worker"` // identifier or name
}

func (*DrainWorker) reply(*WorkerChanged) {}

var _ = define(definition[DrainWorker, WorkerChanged]{
	number: 21, reply: 24, failed: workerFailed[DrainWorker], from: workerFrom,
	worker: func(m *DrainWorker) *string { return &m.Worker },
})
