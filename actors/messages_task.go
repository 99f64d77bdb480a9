package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// attended is an Execute whose sender waits for more than the answer: it is
// asked before anything is played, and hears of each step of an asynchronous
// task. Reply: [Executed], as for [Execute].
type executeWithAck struct{ Execute *api.Execute }

// begun says that a worker has the task and would begin. What has to be on disk
// before anything is played can be written now. It is known by Executed as far as
// it can be: without an outcome. Reply: [noted].
type startRequest struct{ Executed *api.Executed }

// noted answers [begun]: whether the task may begin, and where it may not, why that is
// to be told to its client.
type startAck struct {
	OK      bool
	Refusal *api.Refusal
}

// stepEnded tells of one step of a task that goes on.
type stepEnded struct{ Step engine.StepReport }

// startTask asks for an asynchronous task. Reply: [Started].
type startTask struct {
	Execute *api.Execute
	Files   uint64 // what was lent to it
}

// taskSettled tells that nothing of a task needs to be written any more.
type taskFinished struct{ Task string }

// taskRefused tells that a task did not begin. Its client hears of it once nothing of
// the task is left: it may be back with it at once, from a node that had no worker.
type taskRefused struct {
	Task    string
	Client  *actor.PID // nil: it has its answer
	Started *api.Started
}

// taskRetires tells that a task has nothing more to say than its record has.
type taskRetires struct{ Task string }

// settle asks for an answer when everything that has ended is on disk: of one
// account, of which nothing may come any more, or of all. Reply: [settled].
type (
	flush   struct{ Account string }
	flushed struct{}
)

// settling is somebody who waits for that.
type flushWaiter struct {
	who     *actor.PID
	account string // empty: all
}
