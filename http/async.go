package http

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// tasksPath is where single tasks are, each under its identifier.
const tasksPath = "/v1/tasks/"

// maxWait bounds how long a poll may wait for the end of its task.
const maxWait = time.Minute

// started is the answer to a task that goes on without its client.
type started struct {
	Success    bool   `json:"success"`
	Async      bool   `json:"async"`
	TaskID     string `json:"taskId"`
	WorkerID   string `json:"workerId"`
	WorkerName string `json:"workerName"`
	SessionID  string `json:"sessionId,omitempty"`
	// Of a repeated request: what is true of the task now.
	Status api.TaskStatus `json:"status,omitempty"`
	Code   engine.Code    `json:"code,omitempty"`
	Error  string         `json:"error,omitempty"`
}

// sendRepeated answers a start whose key has a task already with what is true of that now:
// it may wait, run, have ended, or be gone.
func (s *Server) sendRepeated(ctx *fasthttp.RequestCtx, m *api.Execute, x *api.Started, t *TaskResult) *answer.Refusal {
	ask := &api.Poll{TaskID: x.TaskID, Account: m.Account, Bare: true}
	p, err := api.Ask(s.base, s.cfg.Actors, ask)
	if err == nil && p.Refusal == nil && p.Status == api.TaskFailed { // why is in its outcome
		if no := s.load(ctx, m.Account.ID); no != nil {
			return no
		}
		ask.Bare = false
		p, err = api.Ask(s.base, s.cfg.Actors, ask)
	}
	switch {
	case err != nil:
		return s.faults.Refuse(ctx, "poll the task of a key", err)
	case p.Refusal != nil && p.Refusal.Code == engine.CodeTaskNotFound:
		no := answer.RefuseText(engine.CodeTaskNotFound, "The task of this "+keyHeader+" has ended, and its result is not kept any more: to run the request again, send another key")
		no.TaskID = x.TaskID
		return no
	case p.Refusal != nil:
		return answer.RefuseBy(p.Refusal)
	}
	now := started{Success: true, Async: true, TaskID: x.TaskID, WorkerID: x.WorkerID, WorkerName: x.WorkerName, SessionID: x.SessionID, Status: p.Status}
	if p.Status == api.TaskFailed {
		_, told := answer.OfTask(p.Executed)
		now.Success, now.Code, now.Error = false, told.Code, told.Error
	}
	t.Status, t.Code, t.Worker = fasthttp.StatusOK, "", x.WorkerID
	if x.Queued == nil {
		answer.SendJSON(ctx, t.Status, now)
		return nil
	}
	queued := answer.Queued{Success: now.Success, Async: true, TaskID: x.TaskID, Status: string(p.Status), Code: now.Code, Error: now.Error}
	if p.Status == api.TaskPending {
		t.Status = fasthttp.StatusAccepted
	}
	if p.Queued != nil {
		queued = answer.OfQueued(&api.Started{TaskID: x.TaskID, Queued: p.Queued})
	}
	answer.SendJSON(ctx, t.Status, queued)
	return nil
}

// start answers as soon as a worker has the task.
func (s *Server) start(ctx *fasthttp.RequestCtx, waiting context.Context, m *api.Execute, b *body, t *TaskResult) *answer.Refusal {
	free, take := b.handOver()
	x, err := inTurn(waiting, s, m, func(ctx context.Context, m *api.Execute) (*api.Started, error) {
		return s.cfg.Actors.Start(ctx, m, free)
	},
		func(x *api.Started) *api.Refusal { return x.Refusal })
	named := func(no *answer.Refusal) *answer.Refusal {
		no.TaskID = m.TaskID
		return no
	}
	switch {
	case refusedBefore(err) != nil:
		return named(answer.RefuseBy(refusedBefore(err)))
	case err != nil:
		return named(s.faults.Refuse(ctx, "start a task", err))
	case x.Refusal != nil:
		return named(answer.RefuseBy(x.Refusal))
	}
	own := strings.HasPrefix(x.TaskID, m.TaskID) // and not the task of an earlier request with the key
	if !own && m.Idempotency.Key != "" {
		return s.sendRepeated(ctx, m, x, t)
	}
	if own {
		take()
	}
	if x.Queued != nil {
		t.Status, t.Code = fasthttp.StatusAccepted, ""
		answer.SendJSON(ctx, t.Status, answer.OfQueued(x))
		return nil
	}
	t.Status, t.Code, t.Worker = fasthttp.StatusOK, "", x.WorkerID
	answer.SendJSON(ctx, t.Status, started{Success: true, Async: true, TaskID: x.TaskID, WorkerID: x.WorkerID, WorkerName: x.WorkerName, SessionID: x.SessionID})
	return nil
}

// handOver returns what removes the files of a request when its task has ended; nil:
// there are none. Once the task has them, take leaves them to it.
func (b *body) handOver() (free, take func()) {
	if b.folder == "" {
		return nil, func() {}
	}
	lent := *b
	lent.weight = nil // what is left of the payload is the actors'
	return lent.remove, func() { b.folder, b.held = "", nil }
}

// result answers what has become of a task.
func (s *Server) result(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	m := &api.Poll{Account: access.ForActors(account)}
	var faults []lang.Fault
	args := ctx.QueryArgs()
	if m.TaskID = string(args.Peek("taskId")); m.TaskID == "" {
		faults = append(faults, lang.Fault{Path: "/taskId", Message: "missing: want the id of a task"})
	}
	var fault *lang.Fault
	if m.Wait, fault = readWait(ctx); fault != nil {
		faults = append(faults, *fault)
	}
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	if !answer.SaneID([]byte(m.TaskID)) {
		return answer.Refuse(engine.CodeTaskNotFound)
	}
	if m.Wait > 0 {
		now, no := s.awaitTask(ctx, account, m)
		switch {
		case no != nil:
			return no
		case now.Status == api.TaskPending:
			answer.SendJSON(ctx, fasthttp.StatusOK, answer.OfPoll(now))
			return nil
		}
		m.Wait = 0
	}
	if no := s.load(ctx, account.ID); no != nil {
		return no
	}
	p, err := api.Ask(s.base, s.cfg.Actors, m)
	if err != nil {
		return s.faults.Refuse(ctx, "poll a task", err)
	}
	if p.Refusal != nil {
		return answer.RefuseBy(p.Refusal)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, answer.OfPoll(p))
	return nil
}

// awaitTask waits for the end of a task. Nothing of its result is loaded meanwhile.
func (s *Server) awaitTask(ctx *fasthttp.RequestCtx, account persistence.Account, m *api.Poll) (*api.Polled, *answer.Refusal) {
	waiting, leave, no := s.waitFor(ctx, account)
	if no != nil {
		return nil, no
	}
	defer leave()
	bare := *m
	bare.Bare = true
	p, err := api.Ask(waiting, s.cfg.Actors, &bare)
	if err != nil {
		return nil, s.faults.Refuse(ctx, "poll a task", err)
	}
	if p.Refusal != nil {
		return nil, answer.RefuseBy(p.Refusal)
	}
	return p, nil
}

// readWait reads how long the answer may wait.
func readWait(ctx *fasthttp.RequestCtx) (time.Duration, *lang.Fault) {
	if !ctx.QueryArgs().Has("wait") {
		return 0, nil
	}
	text := string(ctx.QueryArgs().Peek("wait"))
	ms, err := strconv.ParseUint(text, 10, 32)
	wait := time.Duration(ms) * time.Millisecond
	if err != nil || wait > maxWait {
		return 0, &lang.Fault{Path: "/wait", Message: fmt.Sprintf("want 0 to %d milliseconds, not %q", engine.Millis(maxWait), text)}
	}
	return wait, nil
}

// waitFor counts a request that waits, and ends its context when the client goes away.
func (s *Server) waitFor(ctx *fasthttp.RequestCtx, account persistence.Account) (waiting context.Context, leave func(), no *answer.Refusal) {
	out, no := s.waits.Take(account.ID)
	if no != nil {
		return nil, nil, no
	}
	waiting, stop := s.disconnects.track(s.base, ctx.Conn())
	return waiting, func() { stop(); out() }, nil
}

// ofTask hands on what can be the identifier of a task.
func ofTask(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		if !answer.SaneID([]byte(id)) {
			return answer.Refuse(engine.CodeTaskNotFound)
		}
		return h(ctx, account, id)
	}
}

// cancelled says whether there was a task to end.
type cancelled struct {
	Success   bool   `json:"success"`
	TaskID    string `json:"taskId"`
	Cancelled bool   `json:"cancelled"`
}

// cancel ends a task. A task that has ended already stays as it is, without an error.
func (s *Server) cancel(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	c, err := api.Ask(s.base, s.cfg.Actors, &api.Cancel{TaskID: id, Account: access.ForActors(account), Cause: api.CauseAsked})
	if err != nil {
		return s.faults.Refuse(ctx, "cancel a task", err)
	}
	if !c.Found {
		if _, no := ask(s, ctx, s.base, "cancel a task", &api.Poll{TaskID: id, Account: access.ForActors(account), Bare: true}); no != nil {
			return no
		}
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, cancelled{true, id, c.Found})
	return nil
}
