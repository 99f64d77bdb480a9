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

// execute plays a task and answers with how it ended.
func (s *Server) execute(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	start := time.Now()
	id := actors.NewTaskID(start)
	b, no := s.readBody(ctx, id)
	defer b.remove() // the task has ended by then, whatever its end
	if no != nil {
		return no
	}
	task, err := engine.Parse(b.payload, b.files)
	if err != nil {
		var invalid *engine.Invalid
		if errors.As(err, &invalid) {
			return refuseInvalid(invalid.Faults...)
		}
		return s.failed(ctx, "read a task", err)
	}
	if s.draining.Load() {
		return refuse(engine.CodeDraining)
	}

	waiting, stop := s.watch.while(s.base, ctx.Conn())
	defer stop()
	x, err := s.cfg.Company.Execute(waiting, &actors.Execute{
		TaskID:  id,
		Account: actors.Account{ID: account.ID, Plan: engine.Plan(account.Plan)},
		Task:    task,
	})
	if errors.Is(context.Cause(waiting), engine.ErrClientGone) {
		ctx.SetConnectionClose() // what is written now reaches nobody
	}
	code, status := engine.Code(""), 0
	switch {
	case err != nil:
		no = s.failed(ctx, "play a task", err)
	case x.Refusal != nil:
		no = refuseBy(x.Refusal)
	case x.Outcome == nil:
		no = s.failed(ctx, "play a task", errors.New("the answer has no outcome"))
	default:
		var a *answer
		status, a = answerOf(x)
		code = a.Code
		sendJSON(ctx, status, a)
	}
	if no != nil {
		code, status = no.Code, infoOf(no.Code).Status
	}
	s.cfg.Log.Info().Str("request", requestID(ctx)).Str("task", id).Str("account", account.ID).
		Int("status", status).Str("code", string(code)).Dur("took", time.Since(start)).Msg("task")
	return no
}

// workers lists the workers that the account may see.
func (s *Server) workers(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	found, err := s.cfg.Company.Workers(s.base, &actors.ListWorkers{
		Account: actors.Account{ID: account.ID, Plan: engine.Plan(account.Plan)},
	})
	if err != nil {
		return s.failed(ctx, "list the workers", err)
	}
	type worker struct {
		ID      string       `json:"workerId"`
		Name    string       `json:"workerName"`
		State   actors.State `json:"state"`
		Since   string       `json:"since"`
		Shared  bool         `json:"shared"`
		Session string       `json:"sessionId,omitempty"`
		Task    string       `json:"taskId,omitempty"`
	}
	list := make([]worker, 0, len(found.Workers))
	for _, w := range found.Workers {
		list = append(list, worker{
			ID: w.ID, Name: w.Name, State: w.State, Since: w.Since.UTC().Format(time.RFC3339Nano),
			Shared: w.Owner == "", Session: w.Session, Task: w.TaskID,
		})
	}
	sendJSON(ctx, fasthttp.StatusOK, struct {
		Success bool     `json:"success"`
		Workers []worker `json:"workers"`
	}{true, list})
	return nil
}
