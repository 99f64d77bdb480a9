package api

// ResumeWorker takes [DrainWorker] back. The reply comes at once.
type ResumeWorker struct {
	Worker string `json:"Worker"` // identifier or name
}

func (*ResumeWorker) reply(*WorkerChanged) {}

var _ = define(definition[ResumeWorker, WorkerChanged]{
	number: 22, reply: 24, failed: workerFailed[ResumeWorker], from: workerFrom,
	worker: func(m *ResumeWorker) *string { return &m.Worker },
})
