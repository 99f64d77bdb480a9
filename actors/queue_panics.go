package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
)

// afterPanic has a message handled again that nobody waits for an answer to: it reports
// something that has happened. Its records are on the disk, whatever it was.
func (u *queue) afterPanic(ctx actor.Context, message any, _ *api.Refusal) bool {
	switch message.(type) {
	case *actor.Stopping:
		u.stop()
		return true
	case *enqueue, *api.Cancel, *api.Poll, *api.Follow, *flush, *api.QueueReport, *api.QueueBegin:
		if !u.handled {
			return false
		}
	case *actor.Started:
		u.handled = true
	}
	if u.handled {
		message = &queueTurn{}
	}
	u.later(again, message)
	return true
}
