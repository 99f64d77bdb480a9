package http

import (
	"encoding/json"
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

// queuedList is a part of a list of queued tasks.
type queuedList struct {
	Success bool                `json:"success"`
	Tasks   []answer.QueuedTask `json:"tasks"`
	Next    string              `json:"next,omitempty"` // the cursor of the next part
	// Unreadable are the identifiers of tasks in this part that the service's key does not open.
	Unreadable []string `json:"unreadable,omitempty"`
}

var queueLists = []string{string(api.ListWaiting), string(api.ListEnded), string(api.ListDead)}

// listQueue lists a part of the account's queued tasks.
func (s *Server) listQueue(ctx *fasthttp.RequestCtx, account persistence.Account, most int) *answer.Refusal {
	args := ctx.QueryArgs()
	m := &api.ListQueue{Account: access.ForActors(account), List: api.QueueList(args.Peek("status")), Most: most}
	var faults []lang.Fault
	switch m.List {
	case api.ListWaiting, api.ListEnded, api.ListDead:
	default:
		faults = append(faults, lang.Fault{Path: "/status", Message: fmt.Sprintf("want %s, not %q%s",
			strings.Join(queueLists, ", "), m.List, lang.DidYouMean(string(m.List), queueLists))})
	}
	if len(faults) == 0 {
		m.After, faults = readCursor(ctx, queuedCursors[m.List], nextWanted)
	}
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	l, no := ask(s, ctx, s.base, "list the queue", m)
	if no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, queuedList{true, answer.QueuedTasks(l.Tasks, time.Now()), l.Next, l.Unreadable})
	return nil
}

// sendAgain queues a task again that failed for good.
func (s *Server) sendAgain(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return answer.Refuse(engine.CodeTaskNotFound)
	}
	if s.Drains() {
		return answer.Refuse(engine.CodeDraining)
	}
	x, no := ask(s, ctx, s.base, "send a task again", &api.SendAgain{TaskID: id, Account: access.ForActors(account), Sites: account.Sites, By: sender(ctx)})
	if no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusAccepted, answer.OfQueued(x))
	return nil
}

// sentAgain answers a repeat with what is true now of the task that the first request has
// queued.
func (s *Server) sentAgain(ctx *fasthttp.RequestCtx, account persistence.Account, _ string, first *callAnswer) *answer.Refusal {
	var made answer.Queued
	if err := json.Unmarshal(first.Body, &made); err != nil {
		return s.faults.Refuse(ctx, "read the answer to a key", err)
	}
	return s.sendRepeated(ctx, &api.Execute{Account: access.ForActors(account)}, &api.Started{TaskID: made.TaskID, Queued: &api.QueuePlace{}}, &TaskResult{})
}

// waitsInQueue finds a task of the account that waits in the queue; nil: there is none.
func (s *Server) waitsInQueue(account persistence.Account, id string) *answer.RecentTask {
	p, err := api.Ask(s.base, s.cfg.Actors, &api.Poll{TaskID: id, Account: access.ForActors(account), Bare: true})
	if err != nil || p.Refusal != nil || p.Queued == nil {
		return nil
	}
	return &answer.RecentTask{TaskID: id, Status: answer.TaskQueued, Async: true, Position: p.Queued.Position}
}

// queueKey joins the two places where a request for the queue may have its key.
func queueKey(t *engine.Task, header string) (string, *lang.Fault) {
	switch {
	case t.Queue == nil || t.Queue.Key == "" || t.Queue.Key == header:
		return header, nil
	case header == "":
		return t.Queue.Key, nil
	}
	return "", &lang.Fault{Path: "/queue/key", Message: fmt.Sprintf("is %s, and the header %s is %s: send one of them",
		strconv.Quote(t.Queue.Key), keyHeader, strconv.Quote(header))}
}

// holdQueue lets no queued task begin while the service is paused or stops.
func (s *Server) holdQueue(on bool) {
	if q, ok := s.cfg.Actors.(interface{ HoldQueue(on bool) }); ok {
		q.HoldQueue(on)
	}
}

// listCodes and listParams are those of lists of tasks.
var listCodes = []engine.Code{engine.CodeInvalidRequest, engine.CodeNotFound, engine.CodeQueueUnavailable}

var listParams = []param{{"limit", "query", "How many.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, maxRecent, answer.DefaultRecent), false},
	{"status", "query", "Which of the queued tasks.", `{"enum":["queued","ended","dead"]}`, false},
	{"cursor", "query", "`next` of the answer with the part before.", `{"type":"string"}`, false}}

func init() {
	operations = append(operations, operation{
		method: "post", path: "/v1/tasks/{taskId}/retry", id: "retryTask", tag: "Asynchronous tasks",
		summary: "Send a queued task again",
		doc:     "Queues a task again that is in the list `dead`, as a new task. It leaves that list.",
		params:  []param{taskParam},
		answers: []reply{{202, "The new task is in the queue.", "", []any{answer.Queued{}}}},
		codes:   append([]engine.Code{engine.CodeTaskNotFound, engine.CodePlanRequired, engine.CodeQueueFull, engine.CodeQueueUnavailable}, bodyCodes...),
	})
}
