package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/engine"
)

// session holds what one session keeps between its requests: the timer, the
// data cache and the browser's saved state. It is an actor of its own because
// it outlives the browser, and may one day outlive its worker.
//
// It reports the end of its time and nothing else: the worker alone decides
// what that means, because only the worker knows whether a task runs.
type session struct {
	id      string
	worker  *actor.PID
	timeout time.Duration
	until   time.Time // it ends then in any case; zero: never

	cache *engine.Cache
	saved json.RawMessage
	timer *time.Timer
	gen   int // a timer of another generation fired late
}

// timeUp is what the timer says.
type timeUp struct{ gen int }

func newSession(id string, worker *actor.PID, timeout time.Duration, until time.Time) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &session{id: id, worker: worker, timeout: timeout, until: until, cache: engine.NewCache()}
	})
}

func (s *session) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.arm(ctx)
	case *actor.Stopping, *actor.Restarting:
		s.disarm()
	case *sessionBegin:
		s.disarm()
		s.change(m.Timeout)
		ctx.Respond(&sessionBegun{Cache: s.cache})
	case *sessionKeep:
		s.saved = m.State
		ctx.Respond(&sessionKept{})
	case *sessionRecall:
		ctx.Respond(&sessionRecalled{State: s.saved})
	case *sessionRename:
		s.disarm()
		s.id, s.cache, s.timeout = m.ID, engine.NewCache(), m.Timeout
	case *sessionRest:
		s.change(m.Timeout)
		s.arm(ctx)
	case *timeUp:
		if m.gen == s.gen {
			ctx.Send(s.worker, &sessionOver{Session: s.id})
		}
	}
}

func (s *session) change(timeout time.Duration) {
	if timeout > 0 {
		s.timeout = timeout
	}
}

func (s *session) arm(ctx actor.Context) {
	s.disarm()
	d := s.timeout
	if left := time.Until(s.until); !s.until.IsZero() && left < d {
		d = max(left, 0)
	}
	root, self, up := ctx.ActorSystem().Root, ctx.Self(), &timeUp{gen: s.gen}
	s.timer = time.AfterFunc(d, func() { root.Send(self, up) })
}

func (s *session) disarm() {
	s.gen++
	if s.timer != nil {
		s.timer.Stop()
	}
}
