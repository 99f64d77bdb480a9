package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
)

// LastEventHeader names the last event that a client has, where it follows again.
const LastEventHeader = "Last-Event-ID"

// Events sends a task's steps as they end, and then its end, as
// server-sent events.
func (s *Streams) Events(ctx *fasthttp.RequestCtx, p *Credential, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return answer.Refuse(engine.CodeTaskNotFound)
	}
	m := api.Follow{TaskID: id, Account: access.ForActors(p.account)}
	if last := ctx.Request.Header.Peek(LastEventHeader); len(last) > 0 {
		n, err := strconv.ParseUint(string(last), 10, 31)
		if err != nil {
			return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf("Last-Event-ID is %q: want the id of an event of this task", last)})
		}
		m.After = int(n)
	}
	first, err := api.Ask(s.cfg.Faults.Base, s.cfg.Actors, &m)
	switch {
	case err != nil:
		return s.cfg.Faults.Refuse(ctx, "follow a task", err)
	case first.Refusal != nil:
		return answer.RefuseBy(first.Refusal)
	}
	leave, no := s.cfg.Waits.Take(p.account.ID)
	if no != nil {
		return no
	}
	f := &taskSource{actors: s.cfg.Actors, ask: m, answer: s.cfg.Answer}
	f.ask.Wait = s.cfg.Heartbeat
	t := s.stream(ctx, p.account.ID, f.next)
	f.guard = s.guarded(t, p, nil)
	gone := t.stop
	t.stop = func() {
		gone()
		leave()
	}
	t.log = t.log.With().Str("task", id).Logger()
	t.beat()
	f.take(t, first)
	return s.begin(ctx, t)
}

// taskSource is where the events of one task come from.
type taskSource struct {
	actors Actors
	guard  *guard
	ask    api.Follow
	answer int64 // how much room the largest end takes
}

func (f *taskSource) next(t *stream) {
	if !f.guard.allows() {
		t.over = true
		return
	}
	m, err := api.Ask(t.ctx, f.actors, &f.ask)
	if err != nil {
		// The client asks again, with the number of the last event it has got.
		t.over = true
		if t.ctx.Err() == nil && !errors.Is(err, engine.ErrDraining) {
			t.log.Error().Err(err).Msg("failed to follow a task")
		}
		return
	}
	f.take(t, m)
}

// take makes events of an answer of the actors.
func (f *taskSource) take(t *stream, m *api.Followed) {
	switch {
	case m.Refusal != nil:
		t.end(answer.RefuseBy(m.Refusal))
	case len(m.Steps) > 0:
		for _, step := range m.Steps {
			t.numbered(uint64(step.Seq), "step", step.Step)
			f.ask.After = step.Seq
		}
	case m.Status != api.TaskPending:
		f.finish(t)
	default:
		t.beat()
	}
}

// finish tells how the task ended, as a poll does, where there is room for it. Else the
// client asks again, with the number of the last event it has got.
func (f *taskSource) finish(t *stream) {
	patient, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	if err := t.weight.Wait(patient, f.answer); err != nil {
		t.over = true
		return
	}
	p, err := api.Ask(t.ctx, f.actors, &api.Poll{TaskID: f.ask.TaskID, Account: f.ask.Account})
	switch {
	case err != nil:
		t.over = true
	case p.Refusal != nil:
		t.end(answer.RefuseBy(p.Refusal))
	default:
		t.end(answer.OfPoll(p))
	}
}
