package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/engine"
	"troupe/http/address"
)

// pollTime is how long one poll waits.
const pollTime = 20 * time.Second

// queueTime is how long a task waits for a worker, or for the task before it to leave its
// session.
const queueTime = 15 * time.Second

// task is a task for the API.
type task struct {
	Actions []json.RawMessage `json:"actions,omitempty"`
	Timeout int               `json:"timeout,omitempty"`
	Queue   int64             `json:"queueTimeout,omitempty"`
	Config  map[string]any    `json:"config,omitempty"`
	Session map[string]any    `json:"session,omitempty"`
	Async   bool              `json:"async,omitempty"`
	Profile json.RawMessage   `json:"profile,omitempty"`
}

// play runs a task while somebody waits.
func (c *call) play(ctx context.Context, t task) (*outcome, error) {
	t.Queue = engine.Millis(queueTime)
	o := &outcome{}
	return o, c.client.ask(ctx, http.MethodPost, address.Fixed("/v1/"), t, o)
}

// start begins a task that goes on by itself. Where the account's plan has no such
// tasks, it plays it.
func (c *call) start(ctx context.Context, t task) (*outcome, error) {
	t.Async = true
	o, err := c.play(ctx, t)
	if err == nil && o.Code == "plan_required" {
		t.Async = false
		return c.play(ctx, t)
	}
	return o, err
}

// await waits for the end of a task that has started, as long as somebody waits for a
// call. Where the call is cancelled, so is the task.
func (c *call) await(ctx context.Context, o *outcome, actions int) (*outcome, error) {
	if !o.Async || o.TaskID == "" {
		return o, nil
	}
	id, session := o.TaskID, o.SessionID
	held, end := context.WithTimeout(ctx, c.cfg.Hold)
	defer end()
	ended, err := c.poll(held, id, actions)
	if ctx.Err() != nil {
		c.cancel(ctx, id)
		return o, context.Cause(ctx)
	}
	if err == nil && ended.pending() {
		ended.TaskID, ended.SessionID = id, session
	}
	return ended, err
}

// poll waits for the end of a task until ctx ends. A task that goes on then is pending.
func (c *call) poll(ctx context.Context, id string, actions int) (*outcome, error) {
	if c.token != nil {
		if o := c.watch(ctx, id, actions); o != nil {
			return o, nil
		}
	}
	for {
		wait := pollTime
		if d, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(d))
		}
		if wait <= 0 || ctx.Err() != nil {
			return &outcome{Status: "pending"}, nil
		}
		o := &outcome{}
		path := address.Fixed("/v1/get-result").With(url.Values{"taskId": {id}, "wait": {strconv.FormatInt(engine.Millis(wait), 10)}})
		err := c.client.ask(ctx, http.MethodGet, path, nil, o)
		switch {
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &outcome{Status: "pending"}, nil
		case err != nil:
			return nil, err
		case !o.pending():
			return o, nil
		}
	}
}

// watch tells the client of each step of a task, until it ends. It returns nil where it
// could not follow the task to its end.
func (c *call) watch(ctx context.Context, id string, actions int) (end *outcome) {
	steps := 0
	_ = c.client.follow(ctx, id, func(e event) bool { // the polls that follow tell what is wrong
		switch e.name {
		case "step":
			var s step
			if json.Unmarshal(e.data, &s) == nil {
				steps++
				c.progress(ctx, steps, actions, s.Path+" "+s.Action)
			}
		case "end":
			o := &outcome{}
			if json.Unmarshal(e.data, o) == nil {
				end = o
			}
		}
		return end == nil
	})
	return end
}

func (c *call) progress(ctx context.Context, n, of int, message string) {
	p := &sdk.ProgressNotificationParams{ProgressToken: c.token, Progress: float64(n), Message: message}
	if n <= of { // loops have more steps than the list has actions
		p.Total = float64(of)
	}
	_ = c.session.NotifyProgress(ctx, p) // a client that is gone is noticed elsewhere
}

// tellProgress says how far a task that goes on has come, if that is known here.
func (c *call) tellProgress(ctx context.Context, r *reply, id string) {
	var found struct {
		Success bool `json:"success"`
		Task    struct {
			Steps []step `json:"steps"`
		} `json:"task"`
	}
	path, err := address.Task.Path(id, "")
	if err != nil {
		return
	}
	err = c.client.ask(ctx, http.MethodGet, path, nil, &found)
	if err != nil || !found.Success || len(found.Task.Steps) == 0 {
		return
	}
	last := found.Task.Steps[len(found.Task.Steps)-1]
	r.note("%d of its steps have ended, the last one is %s %s.", len(found.Task.Steps), last.Path, last.Action)
	r.fact("steps", len(found.Task.Steps))
}

// cancelTime is how long ending a task may take once nobody waits for it.
const cancelTime = 5 * time.Second

// cancel ends a task, also for a client that is gone.
func (c *call) cancel(ctx context.Context, id string) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer end()
	path, err := address.Task.Path(id, "")
	if err == nil {
		_, err = c.client.read(ctx, http.MethodDelete, path, nil)
	}
	if err != nil {
		c.cfg.Log.Warn().Err(err).Str("task", id).Msg("the task of a cancelled call could not be cancelled")
	}
}
