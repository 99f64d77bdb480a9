package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"troupe/http/address"
)

type runArguments struct {
	Actions    json.RawMessage `json:"actions"`
	Session    string          `json:"session"`
	Snapshot   string          `json:"snapshot"`
	Picture    bool            `json:"picture"`
	Timeout    int             `json:"timeout"`
	Background bool            `json:"background"`
	Config     around          `json:"config"`
	Profile    json.RawMessage `json:"profile"`
	budget
}

// newSession is what stands for a session that a call opens.
const newSession = "new"

// runTool runs a list, and looks at the page afterwards.
func runTool(ctx context.Context, c *call, raw json.RawMessage) (*reply, error) {
	var a runArguments
	if err := arguments(raw, &a); err != nil {
		return nil, err
	}
	actions, err := list(a.Actions)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, actions, &a)
}

// run runs actions as the arguments say. Its own looks at the page are the last actions
// of the same list: where they do not get their turn, they are sent once more alone.
func (c *call) run(ctx context.Context, actions []json.RawMessage, a *runArguments) (*reply, error) {
	if err := oneOf("snapshot", &a.Snapshot, "none", "diff", "interactive", "full"); err != nil {
		return nil, err
	}
	if err := a.budget.check(); err != nil {
		return nil, err
	}
	if err := a.Config.check(); err != nil {
		return nil, err
	}
	if string(a.Profile) == "null" {
		a.Profile = nil
	}
	if len(a.Profile) > 0 && a.Session != "" {
		return nil, wrongArgument(`A session has no profile: leave out "session" or "profile"`)
	}
	looks, err := c.looks(a)
	if err != nil {
		return nil, err
	}
	kept, sites, no, err := c.entry(ctx, a.Session, len(actions))
	if err != nil || no != nil {
		return no, err
	}
	t := task{Timeout: a.Timeout, Config: a.Config.within(c.policy.config(sites)), Session: sessionOf(a.Session), Profile: a.Profile}
	t.Actions = append(append(t.Actions, actions...), raws(looks)...)
	alone := len(looks) > 0 && a.Session == "" && len(a.Profile) == 0 // then the browser must not be gone before it was looked at
	if alone {
		t.Session = map[string]any{"preserve": true, "timeout": 60000}
	}
	o, err := c.start(ctx, t)
	if err != nil {
		return nil, err
	}
	if alone && (o.Code == "plan_required" || o.Code == "session_limit") { // nothing has run: it goes without looking after a failure
		alone, t.Session = false, nil
		if o, err = c.start(ctx, t); err != nil {
			return nil, err
		}
	}
	r := &reply{tokens: a.MaxTokens, named: a.Session}
	if a.Background && o.Async && o.TaskID != "" {
		return c.goesOn(r, o, a.Session), nil
	}
	if o, err = c.await(ctx, o, len(t.Actions)); err != nil {
		return nil, err
	}
	if o.pending() {
		r = c.goesOn(r, o, a.Session)
		c.tellProgress(ctx, r, o.TaskID)
		return r, nil
	}
	session := o.SessionID
	if session == "" && a.Session != newSession {
		session = a.Session
	}
	if alone {
		o.SessionID = ""
	}
	r.explain(o, actions)
	if session != "" && !o.refused() && !alone {
		c.keep(ctx, session, o, actions, kept)
	}
	c.results(ctx, r, o, actions)
	if err := c.look(ctx, r, o, len(actions), looks, session, alone); err != nil {
		return nil, err
	}
	return r, nil
}

// goesOn answers for a task that has not ended.
func (c *call) goesOn(r *reply, o *outcome, session string) *reply {
	r.head = "running: task " + o.TaskID
	r.task, r.session = o.TaskID, o.SessionID
	r.fact("ok", true)
	r.fact("status", "running")
	r.fact("task", o.TaskID)
	if o.SessionID != "" {
		r.fact("session", o.SessionID)
		r.head += ", session " + o.SessionID
	}
	r.note("Call look with this task to wait for its end, or session with do \"cancel\" and its id.")
	return r
}

func sessionOf(session string) map[string]any {
	switch session {
	case "":
		return nil
	case newSession:
		return map[string]any{"preserve": true}
	}
	return map[string]any{"id": session}
}

// entry reads what is kept of a session, and which sites its pages may be from.
func (c *call) entry(ctx context.Context, session string, actions int) (kept Kept, sites []string, no *reply, err error) {
	if session != "" && session != newSession {
		if err := checkID(address.Session, "session", session); err != nil {
			return kept, nil, nil, err
		}
		if kept, err = c.cfg.Journal.Load(ctx, c.account, session); err != nil {
			return kept, nil, nil, fmt.Errorf("read what is known of the session: %w", err)
		}
	}
	if kept.Actions+actions > maxActions {
		return kept, nil, &reply{failed: true, session: session, head: fmt.Sprintf(
			"refused: a session runs at most %d actions for a model, and this one has run %d. Close it, and begin again with session \"new\".", maxActions, kept.Actions)}, nil
	}
	sites, err = narrow(c.policy.Sites, kept.Sites)
	return kept, sites, nil, err
}

// keep notes what a list has done in its session.
func (c *call) keep(ctx context.Context, session string, o *outcome, actions []json.RawMessage, before Kept) {
	var steps []KeptStep
	for i, done := range o.done(len(actions)) {
		if done {
			steps = append(steps, KeptStep{actions[i], o.selectors(i)})
		}
	}
	err := c.cfg.Journal.Change(ctx, c.account, session, func(k *Kept) {
		k.Actions += len(actions)
		k.add(steps)
		if len(k.Sites) == 0 {
			k.Sites = before.Sites
		}
	})
	if err != nil {
		c.cfg.Log.Warn().Err(err).Str("session", session).Msg("the steps of a session could not be noted: they cannot be saved as a flow")
	}
}

// results tells what actions gave, and lists files.
func (c *call) results(ctx context.Context, r *reply, o *outcome, actions []json.RawMessage) {
	for i := range actions {
		s := o.step(i)
		if s == nil {
			continue
		}
		if s.Action == "snapshot" && s.Success {
			c.show(ctx, r, "snapshot", s.Result, 0)
			continue
		}
		if text := plain(s.Result); text != "" && s.Action != "screenshot" {
			r.part(fmt.Sprintf("[%d] %s: ", i, s.Action), text, "ask for less, or for more maxTokens")
		}
		for _, n := range s.Notes {
			r.part(fmt.Sprintf("[%d] note: ", i), n, "")
		}
	}
	if len(o.Dialogs) > 2 {
		r.part("dialogs: ", string(o.Dialogs), "")
	}
	for i, d := range o.Downloads {
		if d.URL != "" {
			r.links = append(r.links, d.URL)
		}
		r.part(fmt.Sprintf("download %d: ", i+1), d.Name, "")
	}
	own := 0
	for i := range actions {
		if s := o.step(i); s != nil && s.Success && s.Action == "screenshot" {
			own++
		}
	}
	r.links = append(r.links, o.Pictures[:min(own, len(o.Pictures))]...)
}
