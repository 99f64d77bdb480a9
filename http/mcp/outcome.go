package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// outcome is what is read of an answer of the API about a task.
type outcome struct {
	Success    bool    `json:"success"`
	Status     string  `json:"status"`
	Error      string  `json:"error"`
	Code       string  `json:"code"`
	Retryable  bool    `json:"retryable"`
	Hint       string  `json:"hint"`
	ActionPath string  `json:"actionPath"`
	Index      *int    `json:"actionIndex"`
	TaskID     string  `json:"taskId"`
	WorkerID   *string `json:"workerId"` // nil: it is no answer about a task that was taken
	SessionID  string  `json:"sessionId"`
	Queued     bool    `json:"queued"`
	Async      bool    `json:"async"`
	Duration   int64   `json:"duration"`
	Restored   bool    `json:"restored"`

	Data      json.RawMessage `json:"data"`
	Details   []detail        `json:"details"`
	Errors    []failure       `json:"errors"`
	Warnings  []warning       `json:"warnings"`
	Steps     []step          `json:"steps"`
	Dialogs   json.RawMessage `json:"dialogs"`
	Downloads []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"downloads"`
	Pictures []string `json:"pictures"`
}

type (
	detail  struct{ Path, Message string }
	warning struct{ ActionPath, Message string }
	failure struct {
		Index int    `json:"actionIndex"`
		Path  string `json:"actionPath"`
		Error string `json:"error"`
		Code  string `json:"code"`
	}
	step struct {
		Path      string          `json:"actionPath"`
		Action    string          `json:"action"`
		Success   bool            `json:"success"`
		Result    json.RawMessage `json:"result"`
		Error     string          `json:"error"`
		Notes     []string        `json:"notes"`
		Selectors json.RawMessage `json:"selectors"`
	}
)

// refused reports whether nothing of the task has run. A start that was refused names its
// task too.
func (o *outcome) refused() bool {
	return !o.Success && o.Code != "" && o.Status == "" && (o.TaskID == "" || o.WorkerID == nil)
}

// pending reports whether the task goes on.
func (o *outcome) pending() bool { return o.Status == "pending" }

// step finds how the action at a place of the list ended; nil: it did not run.
func (o *outcome) step(i int) *step {
	for at := range o.Steps {
		if o.Steps[at].Path == strconv.Itoa(i) {
			return &o.Steps[at]
		}
	}
	return nil
}

// selectors are those that the service names for the references in an action and in the
// actions in it; nil: it has none.
func (o *outcome) selectors(i int) json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, s := range o.Steps {
		if top, _, _ := strings.Cut(s.Path, "/"); top == strconv.Itoa(i) && len(s.Selectors) > 0 {
			_ = json.Unmarshal(s.Selectors, &all) // what is not read is missed when the flow is saved
		}
	}
	if len(all) == 0 {
		return nil
	}
	b, _ := marshal(all) // of JSON
	return b
}

// done is which of the first n actions succeeded.
func (o *outcome) done(n int) []bool {
	all := make([]bool, n)
	for i := range all {
		s := o.step(i)
		all[i] = s != nil && s.Success
	}
	for _, f := range o.Errors { // an action in one of them has failed
		if f.Index >= 0 && f.Index < n {
			all[f.Index] = false
		}
	}
	if o.Index != nil && *o.Index < n && *o.Index >= 0 {
		all[*o.Index] = false
	}
	return all
}

// plain is the result of an action as a model reads it: a text without its quotes.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if s := string(raw); s != `{"success":true}` && s != "null" {
		return s
	}
	return ""
}

// next says what to do about a failure.
func next(code string) string {
	switch code {
	case "element_not_found", "element_gone", "element_not_visible", "element_covered":
		return "Look for the element: look with find and some words of it, or run with snapshot \"interactive\". Then send the failed action and those after it again."
	case "invalid_request":
		return "Mend the list and send it again; the tool actions explains an action."
	case "site_not_allowed":
		return "This model may not leave its sites. Do not try other ways to get there; tell the person you work for if it is needed."
	case "session_mismatch":
		return "This session has ended or is not yours: begin again with session \"new\"."
	case "session_limit":
		return "Close a session that is no longer needed: session list, then close."
	case "no_worker_available": // the error says how many are reserved: a session has one until it is closed
		return "Try the same call again in some seconds. If workers are reserved: run in the session that you have, or close it (session list, then close)."
	case "worker_busy", "worker_reserved", "worker_offline", "too_many_waiting", "rate_limited":
		return "Try the same call again in some seconds."
	case "task_timeout":
		return "Send fewer actions, or a longer timeout, or background true."
	case "navigation_failed":
		return "Check the address."
	case "plan_required":
		return "The account's plan lacks this: do without, such as without a session."
	case "daily_limit", "storage_quota":
		return "Stop and tell the person you work for."
	case "browser_crashed", "interrupted", "worker_lost":
		return "Run the list again from where its effects are known."
	}
	return ""
}

// seconds is a time for people.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s" }

// explain tells in our words how the first n actions of a task ended. Texts that have
// something of a page in them are parts.
func (r *reply) explain(o *outcome, actions []json.RawMessage) {
	n := len(actions)
	r.session, r.task = o.SessionID, o.TaskID
	session, failed := o.SessionID, o.Code != "" || len(o.Errors) > 0
	if session == r.named {
		session = ""
	}
	for _, f := range [][2]string{{"session", session}, {"task", o.TaskID}, {"code", o.Code}} {
		if f[1] != "" && (f[0] != "task" || failed) {
			r.fact(f[0], f[1])
		}
	}
	in := ""
	if session != "" {
		in = ", session " + session
	}
	succeeded := 0
	for _, d := range o.done(n) {
		if d {
			succeeded++
		}
	}
	r.fact("ok", o.Code == "" && len(o.Errors) == 0)
	if failed {
		r.fact("actions", n)
		r.fact("succeeded", succeeded)
	}
	switch {
	case o.refused():
		r.failed = true
		r.head = "refused (" + o.Code + "): nothing has run."
		r.note("%s", o.Error) // of the list, or of the service: no page has been seen
		for _, d := range o.Details {
			if text := d.Path + ": " + d.Message; text != o.Error {
				r.note("%s", text)
			}
		}
	case o.Code != "":
		r.failed = true
		r.head = fmt.Sprintf("stopped (%s) after %s%s", o.Code, seconds(o.Duration), in)
		if o.Index != nil && *o.Index < n {
			r.fact("failedAt", *o.Index)
			r.note("Action %d of %d, %s, failed; %d before it succeeded.", *o.Index, n, actionName(actions[*o.Index]), succeeded)
		}
		r.part("error: ", o.Error, "")
	case len(o.Errors) > 0:
		r.failed = true
		r.head = fmt.Sprintf("done in %s with %d failures%s", seconds(o.Duration), len(o.Errors), in)
	default:
		r.head = "done" + in
	}
	for _, f := range o.Errors {
		r.part(fmt.Sprintf("error at %s (%s): ", f.Path, f.Code), f.Error, "")
	}
	if hint := next(o.Code); hint != "" {
		r.note("%s", hint)
	} else if len(o.Errors) > 0 && next(o.Errors[0].Code) != "" {
		r.note("%s", next(o.Errors[0].Code))
	}
	if o.Restored {
		r.note("The session's browser was replaced before this call: what pages held in memory is gone.")
	}
	for _, w := range o.Warnings {
		r.part("warning at "+w.ActionPath+": ", w.Message, "")
	}
}
