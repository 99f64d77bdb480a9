package actors

import "troupe/actors/api"

// enlisted and struck tell admission who may name which worker.
type (
	workerAdded   struct{ Worker, Owner string }
	workerRemoved struct{ Worker string }
)

// hire starts the actors of a worker, release ends them.
type (
	startWorker struct{ spec api.WorkerSpec }
	stopWorker  struct{ worker string }
)
