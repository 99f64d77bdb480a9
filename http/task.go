package http

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/engine"
	"troupe/persistence"
)

// execute plays a task and answers with how it ended, or starts one that is
// asked for later. Whatever becomes of it is one line of the log.
func (s *Server) execute(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	start := time.Now()
	id := actors.NewTaskID(start)
	t := told{status: fasthttp.StatusInternalServerError, code: engine.CodeInternal} // unless it does not panic
	defer func() {
		s.cfg.Log.Info().Str("request", requestID(ctx)).Str("task", id).Str("account", account.ID).Str("plan", account.Plan).
			Bool("async", t.async).Str("worker", t.worker).Int("status", t.status).Str("code", string(t.code)).Int("failed", t.failed).
			Dur("took", time.Since(start)).Msg("task")
	}()
	no := s.attend(ctx, account, id, start, &t)
	if no != nil {
		t.code, t.status = no.Code, infoOf(no.Code).Status
	}
	return no
}

// told is what the log says of a request for a task.
type told struct {
	async  bool
	worker string
	status int
	code   engine.Code // empty: the task was played, or started, and nothing stopped it
	failed int         // actions that failed
}

// attend reads a request for a task and answers it.
func (s *Server) attend(ctx *fasthttp.RequestCtx, account persistence.Account, id string, asked time.Time, t *told) *refusal {
	b, no := s.readBody(ctx, id)
	defer func() { b.remove() }() // the task has ended by then, whatever its end
	if no != nil {
		return no
	}
	m, no := s.order(ctx, account, id, b)
	if no != nil {
		return no
	}
	m.Asked = asked
	t.async = m.Task.Async
	if s.draining.Load() {
		return refuse(engine.CodeDraining)
	}

	waiting, stop := s.watch.while(s.base, ctx.Conn())
	defer stop()
	listening := waiting
	if m.Idempotency.Key != "" {
		waiting = s.base // who repeats the request wants its answer
	}
	if t.async {
		no = s.start(ctx, waiting, m, b, t)
	} else {
		no = s.play(ctx, waiting, m, t)
	}
	s.rate(ctx, account)
	if errors.Is(context.Cause(listening), engine.ErrClientGone) {
		ctx.SetConnectionClose() // what is written now reaches nobody
	}
	return no
}

// order makes of a request what the actors are asked.
func (s *Server) order(ctx *fasthttp.RequestCtx, account persistence.Account, id string, b *body) (*actors.Execute, *refusal) {
	key, fault := keyOf(ctx)
	task, err := engine.Parse(b.payload, b.files)
	var invalid *engine.Invalid
	switch {
	case errors.As(err, &invalid) && fault != nil:
		return nil, refuseInvalid(append(invalid.Faults, *fault)...)
	case errors.As(err, &invalid):
		return nil, refuseInvalid(invalid.Faults...)
	case err != nil:
		return nil, s.failed(ctx, "read a task", err)
	case fault != nil:
		return nil, refuseInvalid(*fault)
	}
	m := &actors.Execute{TaskID: id, Account: by(account), Task: task}
	if key != "" {
		m.Idempotency.Key = key
		if m.Idempotency.Digest, err = digest(b.payload, b.files); err != nil {
			return nil, s.failed(ctx, "compare a request", err)
		}
	}
	return m, nil
}

// by names an account to the actors.
func by(a persistence.Account) actors.Account {
	return actors.Account{ID: a.ID, Plan: engine.Plan(a.Plan)}
}

// play answers with the end of a task.
func (s *Server) play(ctx *fasthttp.RequestCtx, waiting context.Context, m *actors.Execute, t *told) *refusal {
	x, err := s.cfg.Company.Execute(waiting, m)
	switch {
	case err != nil:
		return s.failed(ctx, "play a task", err)
	case x.Refusal != nil:
		return refuseBy(x.Refusal)
	case x.Outcome == nil:
		return s.failed(ctx, "play a task", errors.New("the answer has no outcome"))
	}
	status, a := answerOf(x)
	t.status, t.code, t.worker, t.failed = status, a.Code, x.WorkerID, len(x.Outcome.Failures)
	sendJSON(ctx, status, a)
	return nil
}

// workerList is the answer that lists workers.
type workerList struct {
	Success bool     `json:"success"`
	Workers []worker `json:"workers"`
}

type worker struct {
	ID       string       `json:"workerId"`
	Name     string       `json:"workerName"`
	State    actors.State `json:"state"`
	Since    string       `json:"since"`
	Shared   bool         `json:"shared"`
	Session  string       `json:"sessionId,omitempty"`
	Task     string       `json:"taskId,omitempty"`
	Draining bool         `json:"draining,omitempty"` // it takes no more tasks
}

// workers lists the workers that the account may see.
func (s *Server) workers(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	found, err := s.cfg.Company.Workers(s.base, &actors.ListWorkers{
		Account: by(account),
	})
	if err != nil {
		return s.failed(ctx, "list the workers", err)
	}
	list := make([]worker, 0, len(found.Workers))
	for _, w := range found.Workers {
		list = append(list, worker{
			ID: w.ID, Name: w.Name, State: w.State, Since: w.Since.UTC().Format(time.RFC3339Nano),
			Shared: w.Owner == "", Session: w.Session, Task: w.TaskID, Draining: w.Draining,
		})
	}
	sendJSON(ctx, fasthttp.StatusOK, workerList{true, list})
	return nil
}
