package schedule

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"

	"github.com/asynkron/protoactor-go/actor"
)

// admitted is a request that the rules let through. Pool answers its client.
type Request struct {
	Execute *api.Execute
	Limits  engine.Limits
	Timeout time.Duration // as the plan allows it
	Counted time.Time     // when the daily count was taken; zero: it was not
	Client  *actor.PID
	// Attended: the client is asked before the task begins, see [attended].
	NeedsAck bool
	Cause    api.Cause // it was cancelled before it came so far
}
