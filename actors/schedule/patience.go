package schedule

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// forwardedWait is how long a forwarded job waits here: for a worker that has
// just ended its last task. For anything longer it waits on its own node.
const forwardedWait = 100 * time.Millisecond

// movedWait is how long a job waits for the browser that its session is restored
// into.
const movedWait = 20 * time.Second

// patience is until when a new job waits.
func patience(x *api.Execute, now time.Time) time.Time {
	if x.SessionMoved { // its worker gets a browser
		return now.Add(max(movedWait, min(x.Task.QueueTimeout, engine.MaxQueueTimeout)))
	}
	if x.Forwarded {
		return now.Add(forwardedWait)
	}
	return now.Add(min(x.Task.QueueTimeout, engine.MaxQueueTimeout))
}
