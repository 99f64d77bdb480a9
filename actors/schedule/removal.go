package schedule

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Removal is the state of a worker's removal.
type Removal struct {
	Asked   []*actor.PID
	Until   time.Time
	Timer   *time.Timer // the end of its grace
	Erasing bool        // its record is being removed
}
