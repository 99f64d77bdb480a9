package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// Receive handles a message. After a panic the session is what it was before,
// timer included, and the sender gets an error. A message without a sender is
// tried once more: its worker does not repeat it, and the session would be wrong
// without it.
func (s *session) Receive(ctx actor.Context) {
	before := *s
	if s.try(ctx) {
		return
	}
	s.rollBack(ctx, before)
	if ctx.Sender() != nil {
		s.answerFailed(ctx)
		return
	}
	if !s.try(ctx) {
		s.rollBack(ctx, before)
		if s.armed { // it may have been the timer's own message
			s.armAfter(ctx, max(time.Until(s.rec.Deadline), again))
		}
	}
}

// try handles a message, and reports whether that did not panic.
func (s *session) try(ctx actor.Context) (done bool) {
	defer func() {
		if r := recover(); r != nil {
			s.book.node.panicked(ctx, r)
		}
	}()
	s.handle(ctx)
	return true
}

// rollBack undoes the changes to the session. The timer goes on if it ran.
func (s *session) rollBack(ctx actor.Context, before session) {
	if s.gen == before.gen { // the timer is as it was
		*s = before
		return
	}
	s.disarm()
	gen := s.gen // no earlier timer counts
	*s = before
	if s.gen = gen; s.armed {
		s.arm(ctx)
	}
}

func (s *session) answerFailed(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *sessionBegin:
		ctx.Respond(&sessionBegun{Refusal: api.Refuse(engine.CodeInternal, "")})
	case *sessionKeep:
		ctx.Respond(&sessionKept{Err: api.FailedInside})
	case *sessionErase:
		ctx.Respond(&sessionErased{Err: api.FailedInside})
	case *sessionConfirm:
		ctx.Respond(&sessionConfirmed{Term: m.Term, Err: api.FailedInside})
	default:
		ctx.Respond(&failure{api.FailedInside})
	}
}
