package http

import (
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/persistence"
)

// How many tasks a list has.
const (
	defaultRecent = 20
	maxRecent     = 100
)

// taskRunning is the status of a task that has not ended, where the others have
// that of [api.TaskStatus].
const taskRunning = "running"

// recentTask is how far a task is, or how it ended. The order of the fields is
// the order on the wire.
type recentTask struct {
	TaskID     string              `json:"taskId"`
	Status     string              `json:"status"` // running, complete, failed
	Async      bool                `json:"async"`
	WorkerID   string              `json:"workerId"`
	WorkerName string              `json:"workerName"`
	SessionID  string              `json:"sessionId,omitempty"`
	Started    string              `json:"startedAt"`
	Ended      string              `json:"endedAt,omitempty"`
	Duration   *int64              `json:"duration,omitempty"`
	Actions    int                 `json:"actions"`
	Played     int                 `json:"stepsEnded"`
	Failed     int                 `json:"failed"`
	Code       engine.Code         `json:"code,omitempty"`
	Error      string              `json:"error,omitempty"`
	Steps      []engine.StepReport `json:"steps,omitempty"`
	Left       int                 `json:"stepsLeftOut,omitempty"`
	Pictures   []string            `json:"pictures,omitempty"`
	Errors     []failure           `json:"errors,omitempty"`
	Trace      string              `json:"trace,omitempty"`
	Evidence   *engine.Evidence    `json:"evidence,omitempty"`
	Account    string              `json:"account,omitempty"` // only for an operator
}

type (
	recentList struct {
		Success bool         `json:"success"`
		Tasks   []recentTask `json:"tasks"`
	}
	recentOne struct {
		Success bool       `json:"success"`
		Task    recentTask `json:"task"`
	}
)

// recentOf tells of a task what the account may know: of another's, to an
// operator, what is known of any task by the metrics.
func recentOf(t *actors.TaskNews, account persistence.Account) recentTask {
	r := recentTask{
		TaskID: t.ID, Status: taskRunning, Async: t.Async, WorkerID: t.Worker, WorkerName: t.WorkerName, SessionID: t.Session,
		Started: t.Began.UTC().Format(time.RFC3339Nano), Actions: t.Actions, Played: t.Played, Failed: t.Failed,
		Steps: t.Steps, Left: t.Left, Pictures: t.Pictures,
	}
	if account.Operator {
		r.Account = persistence.AccountName(t.Account)
	}
	if t.Outcome == nil {
		return r
	}
	_, a := answerOf(&api.Executed{TaskID: t.ID, Outcome: t.Outcome, Timeout: t.Timeout})
	r.Ended, r.Duration, r.Code = t.Ended.UTC().Format(time.RFC3339Nano), &a.Duration, a.Code
	if r.Status = string(api.TaskFailed); t.Outcome.End == engine.EndCompleted && a.Code == "" {
		r.Status = string(api.TaskComplete)
	}
	if t.Account == account.ID {
		r.Error, r.Errors, r.Trace, r.Evidence = a.Error, failures(t.Outcome.Failures), a.Trace, a.Evidence
	} else {
		r.SessionID = "" // who knows it and has a token of the account may go on with it
	}
	return r
}

// recent lists the last tasks of the account, the newest first.
func (s *Server) recent(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	if s.cfg.Live == nil {
		return refuse(engine.CodeNotFound)
	}
	most := defaultRecent
	if args := ctx.QueryArgs(); args.Has("limit") {
		n, err := strconv.Atoi(string(args.Peek("limit")))
		if err != nil || n < 1 || n > maxRecent {
			return refuseInvalid(lang.Fault{Path: "/limit", Message: fmt.Sprintf("want 1 to %d, not %q", maxRecent, args.Peek("limit"))})
		}
		most = n
	}
	all := s.cfg.Live.Recent(account.ID, account.Operator, most)
	sendJSON(ctx, fasthttp.StatusOK, recentList{true, recentsOf(all[:min(len(all), most)], account)})
	return nil
}

func recentsOf(all []actors.TaskNews, account persistence.Account) []recentTask {
	list := make([]recentTask, len(all))
	for i := range all {
		list[i] = recentOf(&all[i], account)
	}
	return list
}

// recently finds one of the last tasks of the account.
func (s *Server) recently(account persistence.Account, id string) *actors.TaskNews {
	if s.cfg.Live == nil {
		return nil
	}
	t, ok := s.cfg.Live.RecentTask(account.ID, account.Operator, id)
	if !ok {
		return nil
	}
	return &t
}

// recentTask tells of one of the last tasks.
func (s *Server) recentTask(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *refusal {
	t := s.recently(account, id)
	if t == nil {
		return refuseText(engine.CodeTaskNotFound, "There is no such task among the last ones of the account")
	}
	sendJSON(ctx, fasthttp.StatusOK, recentOne{true, recentOf(t, account)})
	return nil
}
