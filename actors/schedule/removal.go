package schedule

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// departure is what pool knows of the end of one worker.
type Removal struct {
	Asked   []*actor.PID
	Until   time.Time
	Timer   *time.Timer // the end of its grace
	Erasing bool        // its record is being removed
}
