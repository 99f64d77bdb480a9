package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// executeWithAck is an Execute whose sender is asked before the task begins, and gets
// each step of an asynchronous task. Reply: [api.Executed], as for [api.Execute].
type executeWithAck struct{ Execute *api.Execute }

// startRequest asks the sender of [executeWithAck] whether the task may begin: a
// worker has it. The sender writes to disk what must be there before. Executed is
// complete but for the outcome. Reply: [startAck].
type startRequest struct{ Executed *api.Executed }

// startAck answers [startRequest]: whether the task may begin, and otherwise the
// refusal for its client.
type startAck struct {
	OK      bool
	Refusal *api.Refusal
}

// stepEnded reports a step of a task that continues.
type stepEnded struct{ Step engine.StepReport }

// startTask asks for an asynchronous task. Reply: [api.Started].
type startTask struct {
	Execute *api.Execute
	Files   uint64 // the number of its cleanup, see [callbacks]

	queued *fromQueue // nil: it was not queued
}

// taskFinished tells that nothing of a task is left to be written.
type taskFinished struct{ Task string }

// taskRefused tells that a task did not begin. The client gets the refusal once nothing
// of the task is left: it may repeat the request at once, after a node without a worker.
type taskRefused struct {
	Task    string
	Client  *actor.PID // nil: it has its answer
	Started *api.Started
}

// taskExpired tells that the task's actor is no longer needed: its record has
// everything.
type taskExpired struct{ Task string }

// flush asks for an answer when the ends of all tasks are on disk: of one account,
// which has no new tasks any more, or of all. Reply: [flushed].
type (
	flush   struct{ Account string }
	flushed struct{}
)

// flushWaiter is an actor that waits for [flushed].
type flushWaiter struct {
	sender  *actor.PID
	account string // empty: all
}
