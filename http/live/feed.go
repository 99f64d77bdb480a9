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

// maxFeeds is how many readers of its news an account may have at once.
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
	stepNews struct {
		TaskID string             `json:"taskId"`
		Step   *engine.StepReport `json:"step"`
	}
)

// Feed tells an account of its workers and tasks as they change, as server-sent
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
	f := &reading{tokens: s.tokens.open(p.account.ID), pass: p, beat: s.cfg.Heartbeat, reader: s.cfg.Source.Read(p.account.ID, p.account.Operator, answer.DefaultRecent)}
	t := s.stream(ctx, f.next)
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
	t.begin(ctx)
	return nil
}

// reading is what a feed is made from.
type reading struct {
	guard  *guard
	pass   *Credential
	beat   time.Duration
	reader view.Reading
	tokens *tokenFeed
}

func (f *reading) begin(t *stream) {
	seq, workers, tasks := f.reader.Begin()
	all := snapshot{Workers: make([]answer.Worker, len(workers)), Tasks: answer.RecentsOf(tasks, f.pass.account)}
	for i, w := range workers {
		all.Workers[i] = answer.WorkerOf(w)
	}
	t.numbered(seq, "snapshot", all)
}

// next waits for news, and now and then looks whether the client may still hear
// of them.
func (f *reading) next(t *stream) {
	wait, cancel := context.WithTimeout(t.ctx, f.beat)
	defer cancel()
	f.tokens.wake(cancel)
	news, err := f.reader.Next(wait)
	tokens, behind := f.tokens.take()
	for _, e := range tokens {
		t.event("token", tokenNews{e.Event, e.Token, e.At, e.By})
	}
	switch {
	case t.ctx.Err() != nil, errors.Is(err, view.ErrBehind), behind:
		t.over = true
	case err != nil && len(tokens) > 0:
	case err != nil: // nothing has happened for a while
		t.beat()
	default:
		for i := range news {
			f.tell(t, &news[i])
		}
	}
	t.over = t.over || !f.guard.lets()
}

func (f *reading) tell(t *stream, n *view.News) {
	switch {
	case n.Worker != nil:
		t.numbered(n.Seq, "worker", answer.WorkerOf(*n.Worker))
	case n.Gone != "":
		t.numbered(n.Seq, "gone", workerGone{n.Gone})
	case n.Step != nil:
		t.numbered(n.Seq, "step", stepNews{n.TaskID, n.Step})
	case n.Task.Outcome != nil:
		t.numbered(n.Seq, "end", answer.RecentOf(n.Task, f.pass.account))
	default:
		t.numbered(n.Seq, "task", answer.RecentOf(n.Task, f.pass.account))
	}
}
