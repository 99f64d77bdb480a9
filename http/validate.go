package http

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// validation is the answer about a request that is not run. The order of
// the fields is the order on the wire.
type validation struct {
	Success  bool         `json:"success"`
	Valid    bool         `json:"valid"`
	Faults   []lang.Fault `json:"faults"`
	Warnings []lang.Fault `json:"warnings"`
	Actions  int          `json:"actions,omitempty"`
	Plan     *planNeed    `json:"plan,omitempty"`
	Time     *timeNeed    `json:"time,omitempty"`
	Sites    []string     `json:"sites,omitempty"` // that the token allows
}

// planNeed is which plan a task needs, beside the one that it would be played on.
type planNeed struct {
	Lowest  *engine.Plan `json:"lowest"` // null: no plan has what it asks for
	Account engine.Plan  `json:"account,omitempty"`
	Allowed *bool        `json:"allowed,omitempty"`
}

// timeNeed is how long a task may take, in milliseconds.
type timeNeed struct {
	Timeout int64 `json:"timeout"` // of the list, as the plan allows it
	Queue   int64 `json:"queueTimeout"`
	Actions int64 `json:"actions"`   // if there were no timeout
	Worst   int64 `json:"worstCase"` // until the list has ended, one way or the other
}

// client is who would send a request, as far as its validation needs that.
type client struct {
	flows     engine.Flows
	limits    map[engine.Plan]engine.Limits
	plan      engine.Plan      // empty: the lowest that takes the task
	isolation engine.Isolation // the operator's
	sites     []string         // of the token; nil: any
	proxies   *[]string        // that config.proxy may name; nil: any
	items     bool             // the task is that of a batch

	unreachable func(host string) error // see Config
}

// parse reads the request as the service would that gets it.
func (by client) parse(payload []byte, files []engine.Upload) (*engine.Task, error) {
	switch {
	case by.items && len(files) > 0:
		return nil, &engine.Invalid{Faults: []lang.Fault{{Message: "the task of a batch takes no files: send it without them"}}}
	case by.items:
		var t *engine.Template
		var err error
		if by.proxies != nil {
			t, err = engine.ParseTemplateFor(payload, by.flows, *by.proxies)
		} else {
			t, err = engine.ParseTemplate(payload, by.flows)
		}
		if err != nil {
			return nil, err
		}
		return t.Task, nil
	case by.proxies != nil:
		return engine.ParseFor(payload, files, by.flows, *by.proxies)
	}
	return engine.ParseWith(payload, files, by.flows)
}

// validation looks at a request.
func (by client) validation(payload []byte, files []engine.Upload) (*validation, error) {
	task, err := by.parse(payload, files)
	var invalid *engine.Invalid
	switch {
	case errors.As(err, &invalid):
		return &validation{Success: true, Faults: invalid.Faults, Warnings: append([]lang.Fault{}, invalid.Warnings()...)}, nil
	case err != nil:
		return nil, err
	}
	if text := by.isolation.Refuses(task.Config.Isolation); text != "" {
		return &validation{Success: true, Faults: []lang.Fault{{Path: "/config/isolation", Message: text}}, Warnings: []lang.Fault{}}, nil
	}
	if faults := engine.ReceiverFaults("/notify", task.Notify, by.unreachable); len(faults) > 0 {
		return &validation{Success: true, Faults: faults, Warnings: []lang.Fault{}}, nil
	}
	task.Within(by.sites)
	v := &validation{Success: true, Valid: true, Faults: []lang.Fault{}, Plan: &planNeed{Account: by.plan}, Sites: by.sites}
	lowest := engine.LowestPlan(task, by.limits)
	if lowest != "" {
		v.Plan.Lowest = &lowest
	}
	played := lowest
	if by.plan != "" {
		_, lacking := by.limits[by.plan].Admit(task)
		allowed := lacking == ""
		v.Plan.Allowed = &allowed
		if allowed {
			played = by.plan
		}
	}
	timeout := task.Timeout
	if played != "" {
		timeout, _ = by.limits[played].Admit(task)
	}
	review := task.Review(timeout)
	v.Actions = review.Actions
	v.Warnings = append([]lang.Fault{}, review.Warnings...)
	if asked := task.Timeout; timeout < asked {
		v.Warnings = append([]lang.Fault{{Path: "/timeout", Message: fmt.Sprintf(
			"plan %s allows %d ms: the timeout of %d ms is reduced to that", played, engine.Millis(timeout), engine.Millis(asked))}}, v.Warnings...)
	}
	v.Time = &timeNeed{Timeout: engine.Millis(timeout), Queue: engine.Millis(task.QueueTimeout), Actions: review.Longest}
	v.Time.Worst = v.Time.Queue + min(v.Time.Actions, v.Time.Timeout) + engine.Millis(task.Aftermath())
	return v, nil
}

// validate says what is wrong with a task, what it needs and how long it can
// take. It plays nothing and counts nothing.
func (s *Server) validate(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	items, fault := readBool(ctx, "items")
	if fault != nil {
		return answer.RefuseInvalid(fault...)
	}
	b, no := s.bodies.readTask(ctx, account, actors.NewTaskID(time.Now()))
	defer func() { b.remove() }()
	if no != nil {
		return no
	}
	end, no := s.bodies.beginParse(ctx, b)
	if no != nil {
		return no
	}
	defer end()
	proxies := s.proxies(account)
	stored, done := s.stored(ctx, b, account)
	defer done()
	by := client{stored, *s.limits.Load(), engine.Plan(account.Plan), s.cfg.Isolation, account.Sites, &proxies, items, s.cfg.Unreachable}
	v, err := by.validation(b.payload, b.files)
	if err != nil {
		return s.faults.Refuse(ctx, "validate a task", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, v)
	return nil
}

// WriteValidation writes what the service would say of a request as indented
// JSON, and reports whether it is valid and the plan has what it asks for.
// Without a plan any will do, and without a list of proxies any of them. With items
// the task is that of a batch.
func WriteValidation(w io.Writer, payload []byte, files []engine.Upload, stored engine.Flows, proxies *[]string, limits map[engine.Plan]engine.Limits, plan engine.Plan, items bool) (ok bool, err error) {
	by := client{flows: stored, limits: limits, plan: plan, isolation: engine.IsolateNone, proxies: proxies, items: items} // no service to compare with
	v, err := by.validation(payload, files)
	if err != nil {
		return false, err
	}
	ok = v.Valid && v.Plan.Lowest != nil && (v.Plan.Allowed == nil || *v.Plan.Allowed)
	return ok, answer.WriteIndented(w, v)
}
