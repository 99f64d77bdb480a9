package actors

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
