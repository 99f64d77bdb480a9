package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// departure is what pool knows of the end of one worker.
type workerRemoval struct {
	asked      []*actor.PID
	until      time.Time
	timer      *time.Timer // the end of its grace
	forgetting bool        // its record is being removed
}
