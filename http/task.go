package http

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// execute runs a task and answers with its result, or starts an asynchronous one.
// Each request is one line of the log, however it ends.
func (s *Server) execute(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	start := time.Now()
	id := actors.NewTaskID(start)
	t := TaskResult{Status: fasthttp.StatusInternalServerError, Code: engine.CodeInternal} // unless it does not panic
	a, answered := TaskRequest{Task: id, Plan: engine.Plan(account.Plan), At: start}, func(TaskResult) {}
	if s.cfg.Observe != nil {
		a.Trace = string(ctx.Request.Header.Peek(traceHeader))
		a.Trace, answered = s.cfg.Observe(a)
	}
	defer func() {
		answered(t)
		s.cfg.Log.Info().Str("request", answer.RequestID(ctx)).Str("task", id).Str("account", account.Name).Str("plan", account.Plan).
			Bool("async", t.Async).Str("worker", t.Worker).Int("status", t.Status).Str("code", string(t.Code)).Int("failed", t.Failed).
			Dur("took", time.Since(start)).Msg("task")
	}()
	no := s.answerTask(ctx, account, a, &t)
	if no != nil {
		t.Code, t.Status = no.Code, answer.InfoOf(no.Code).Status
	}
	return no
}

// TaskRequest is a request for a task, as [Config.Observe] receives it.
type TaskRequest struct {
	Task  string
	Plan  engine.Plan
	At    time.Time
	Trace string // W3C trace context that it came with, unread; empty: none
}

// TaskResult is how the service answered a [TaskRequest].
type TaskResult struct {
	Async  bool
	Worker string
	Status int
	Code   engine.Code // empty: the task was played, or started, and nothing stopped it
	Failed int         // actions that failed
}

// answerTask reads a request for a task and answers it.
func (s *Server) answerTask(ctx *fasthttp.RequestCtx, account persistence.Account, a TaskRequest, t *TaskResult) *answer.Refusal {
	b, no := s.bodies.readTask(ctx, account, a.Task)
	defer func() { b.remove() }() // the task has ended by then, whatever its end
	if no != nil {
		return no
	}
	if id, is := ctx.UserValue(againKey{}).(string); is {
		if no := s.repeatRun(account, id, b); no != nil {
			return no
		}
	}
	m, no := s.executeMessage(ctx, account, a.Task, b)
	if no != nil {
		return no
	}
	if m.Task.KeepResult && !s.cfg.Runs.Keeps() {
		return answer.RefuseInvalid(lang.Fault{Path: "/keepResult", Message: "is not possible: this service keeps no history of runs (--history off)"})
	}
	if m.Task.Async || m.Task.KeepResult || m.Idempotency.Key != "" {
		// Its answer is kept, whatever its size: that would be too late to refuse.
		if err := s.cfg.Ledger.Full(account.ID, s.within(account)); errors.Is(err, persistence.ErrQuota) {
			return answer.RefuseBy(api.RefusalFor(err))
		}
	}
	m.Asked, m.Trace = a.At, a.Trace
	t.Async = m.Task.Async
	if m.RemoteOnly = s.Drains() && !s.continuesSession(m.Task); m.RemoteOnly && s.cfg.Actors.Status().PeerWorkers == 0 {
		return answer.Refuse(engine.CodeDraining)
	}

	if m.Idempotency.Key != "" && !t.Async {
		if no := s.roomForRepeat(ctx, m); no != nil {
			return no
		}
	}

	waiting, stop := s.disconnects.track(s.base, ctx.Conn())
	defer stop()
	listening := waiting
	if m.Idempotency.Key != "" {
		waiting = s.base // a repeated request wants its answer
	}
	if t.Async {
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

// executeMessage makes the message for the actors from a request.
func (s *Server) executeMessage(ctx *fasthttp.RequestCtx, account persistence.Account, id string, b *body) (*api.Execute, *answer.Refusal) {
	key, fault := keyOf(ctx)
	end, no := s.bodies.beginParse(ctx, b)
	if no != nil {
		return nil, no
	}
	defer end()
	stored, done := s.stored(ctx, b, account)
	defer done()
	task, err := s.parse(account, b.payload, b.files, stored)
	var invalid *engine.Invalid
	switch {
	case errors.As(err, &invalid) && fault != nil:
		return nil, answer.RefuseInvalid(append(invalid.Faults, *fault)...)
	case errors.As(err, &invalid):
		return nil, answer.RefuseInvalid(invalid.Faults...)
	case err != nil:
		return nil, s.faults.Refuse(ctx, "read a task", err)
	case fault != nil:
		return nil, answer.RefuseInvalid(*fault)
	}
	if key, fault = queueKey(task, key); fault != nil {
		return nil, answer.RefuseInvalid(*fault)
	}
	m := &api.Execute{TaskID: id, Account: access.ForActors(account), Task: task.AsText(), By: sender(ctx)}
	if key != "" {
		m.Idempotency.Key = key
		if m.Idempotency.Digest, err = digest(b.payload, b.files); err != nil {
			return nil, s.faults.Refuse(ctx, "compare a request", err)
		}
	}
	return m, nil
}

// roomForRepeat waits until there is room for the answer that is kept of a request's key. It
// is loaded after that.
func (s *Server) roomForRepeat(ctx *fasthttp.RequestCtx, m *api.Execute) *answer.Refusal {
	kept, no := ask(s, ctx, s.base, "look for the answer to a key", &api.KeptAnswer{Account: m.Account, Key: m.Idempotency.Key})
	switch {
	case no != nil:
		return no
	case kept.Bytes <= smallAnswer:
		return nil
	}
	return s.loadWeighing(ctx, m.Account.ID, loadedTimes*kept.Bytes)
}

// continuesSession reports whether a task continues a session while the operator drains
// a node of a cluster: its sessions go on until it stops, and then on another node. A
// session of a service without others is where its clients wait for the service.
func (s *Server) continuesSession(t *engine.Task) bool {
	return s.cfg.OtherNodes != nil && !s.draining.Load() && t.Session != nil && t.Session.ID != ""
}

// play answers with the end of a task.
func (s *Server) play(ctx *fasthttp.RequestCtx, waiting context.Context, m *api.Execute, t *TaskResult) *answer.Refusal {
	x, err := inTurn(waiting, s, m, s.cfg.Actors.Execute, func(x *api.Executed) *api.Refusal { return x.Refusal })
	switch {
	case refusedBefore(err) != nil:
		return answer.RefuseBy(refusedBefore(err))
	case err != nil:
		return s.faults.Refuse(ctx, "play a task", err)
	case x.Refusal != nil:
		return answer.RefuseBy(x.Refusal)
	case x.Outcome == nil:
		return s.faults.Refuse(ctx, "play a task", errors.New("the answer has no outcome"))
	}
	if m.Idempotency.Key != "" && x.TaskID != m.TaskID && ctx.UserValue(weightKey{}) == nil { // a repeat that came while the first request was played
		if no := s.load(ctx, m.Account.ID); no != nil {
			return no
		}
	}
	status, a := answer.OfTask(x)
	t.Status, t.Code, t.Worker, t.Failed = status, a.Code, x.WorkerID, len(x.Outcome.Failures)
	answer.SendJSON(ctx, status, a)
	return nil
}

// workerList is the answer that lists workers.
type workerList struct {
	Success bool            `json:"success"`
	Workers []answer.Worker `json:"workers"`
}

// workers lists the workers that the account may see.
func (s *Server) workers(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	found, err := api.Ask(s.base, s.cfg.Actors, &api.ListWorkers{
		Account: access.ForActors(account),
	})
	if err != nil {
		return s.faults.Refuse(ctx, "list the workers", err)
	}
	list := make([]answer.Worker, 0, len(found.Workers))
	for _, w := range found.Workers {
		list = append(list, answer.WorkerOf(w))
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, workerList{true, list})
	return nil
}
