package schedule

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// guestWait is how long a guest waits: for a worker that has answered its last
// task and is about to be free. For anything longer it waits where it came from.
const forwardedWait = 100 * time.Millisecond

// movedWait is how long a request waits for the browser that its session is put
// into.
const movedWait = 20 * time.Second

// patience is until when a job waits that has just come.
func patience(x *api.Execute, now time.Time) time.Time {
	if x.SessionMoved { // its worker gets a browser
		return now.Add(max(movedWait, min(x.Task.QueueTimeout, engine.MaxQueueTimeout)))
	}
	if x.Forwarded {
		return now.Add(forwardedWait)
	}
	return now.Add(min(x.Task.QueueTimeout, engine.MaxQueueTimeout))
}
