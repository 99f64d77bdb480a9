package schedule

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"

	"github.com/asynkron/protoactor-go/actor"
)

// Request is a request that admission has let through. Pool answers its client.
type Request struct {
	Execute *api.Execute
	Limits  engine.Limits
	Timeout time.Duration // as the plan allows it
	Counted time.Time     // when the daily count was taken; zero: it was not
	Client  *actor.PID
	// NeedsAck tells that the client is asked before the task begins.
	NeedsAck bool
	Cause    api.Cause // it was cancelled before it came so far
}
