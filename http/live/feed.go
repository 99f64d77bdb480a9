package live

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/view"
	"troupe/engine"
	"troupe/http/answer"
)

// maxFeeds is how many feeds an account may have open at once.
const maxFeeds = 20

// snapshot is the first event of a feed: all that those after it change.
type snapshot struct {
	Workers []answer.Worker     `json:"workers"`
	Tasks   []answer.RecentTask `json:"tasks"`
}

type (
	workerGone struct {
		ID string `json:"workerId"`
	}
	stepEvent struct {
		TaskID string             `json:"taskId"`
		Step   *engine.StepReport `json:"step"`
	}
)

// Feed sends an account its workers and tasks as they change, as server-sent
// events. It always begins with all there is: so a reader that comes again, after
// whatever it has missed, has no wrong picture.
func (s *Streams) Feed(ctx *fasthttp.RequestCtx, p *Credential) *answer.Refusal {
	if s.cfg.Source == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	select {
	case <-s.leaving:
		return answer.Refuse(engine.CodeDraining)
	default:
	}
	leave, no := s.feeds.Take(p.account.ID)
	if no != nil {
		return no
	}
	f := &feedSource{tokens: s.tokens.open(p.account.ID), credential: p, beat: s.cfg.Heartbeat, reader: s.cfg.Source.Subscribe(p.account.ID, p.account.Operator, answer.DefaultRecent)}
	t := s.stream(ctx, p.account.ID, f.next)
	f.guard = s.guarded(t, p, s.leaving)
	gone := t.stop
	t.stop = func() {
		gone()
		f.reader.Close()
		s.tokens.close(f.tokens)
		leave()
	}
	t.beat()
	f.begin(t)
	return s.begin(ctx, t)
}

// feedSource is where a feed's events come from.
type feedSource struct {
	guard      *guard
	credential *Credential
	beat       time.Duration
	reader     view.Subscription
	tokens     *tokenFeed
}

func (f *feedSource) begin(t *stream) {
	seq, workers, tasks := f.reader.Snapshot()
	all := snapshot{Workers: make([]answer.Worker, len(workers)), Tasks: answer.RecentsOf(tasks, f.credential.account)}
	for i, w := range workers {
		all.Workers[i] = answer.WorkerOf(w)
	}
	t.numbered(seq, "snapshot", all)
}

// next waits for events, and sometimes checks whether the client may still
// read them.
func (f *feedSource) next(t *stream) {
	wait, cancel := context.WithTimeout(t.ctx, f.beat)
	defer cancel()
	f.tokens.wake(cancel)
	events, err := f.reader.Next(wait)
	tokens, behind := f.tokens.take()
	for _, e := range tokens {
		t.event("token", tokenEvent{e.Event, e.Token, e.At, e.By})
	}
	switch {
	case t.ctx.Err() != nil, errors.Is(err, view.ErrBehind), behind:
		t.over = true
	case err != nil && len(tokens) > 0:
	case err != nil: // nothing has happened for a while
		t.beat()
	default:
		for i := range events {
			f.write(t, &events[i])
		}
	}
	t.over = t.over || !f.guard.allows()
}

func (f *feedSource) write(t *stream, n *view.Event) {
	switch {
	case n.Worker != nil:
		t.numbered(n.Seq, "worker", answer.WorkerOf(*n.Worker))
	case n.Gone != "":
		t.numbered(n.Seq, "gone", workerGone{n.Gone})
	case n.Step != nil:
		t.numbered(n.Seq, "step", stepEvent{n.TaskID, n.Step})
	case n.Task.Outcome != nil:
		t.numbered(n.Seq, "end", answer.RecentOf(n.Task, f.credential.account))
	default:
		t.numbered(n.Seq, "task", answer.RecentOf(n.Task, f.credential.account))
	}
}
