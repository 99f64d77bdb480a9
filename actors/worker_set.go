package actors

import "troupe/actors/api"

// enlisted and struck tell admission who may name which worker.
type (
	enlisted struct{ Worker, Owner string }
	struck   struct{ Worker string }
)

// hire starts the actors of a worker, release ends them.
type (
	hire    struct{ spec api.WorkerSpec }
	release struct{ worker string }
)
