package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"troupe/engine/lang"
	"troupe/http/address"
)

type sessionArguments struct {
	Do      string   `json:"do"`
	ID      string   `json:"id"`
	Sites   []string `json:"sites"`
	Timeout int      `json:"timeout"`
	Config  around   `json:"config"`
	Profile any      `json:"profile"` // only to say where it is right
}

// sessionTool opens, lists and closes sessions, and cancels tasks.
func sessionTool(ctx context.Context, c *call, raw json.RawMessage) (*reply, error) {
	var a sessionArguments
	if err := arguments(raw, &a); err != nil {
		return nil, err
	}
	if a.Do == "" {
		a.Do = "-" // it has no default
	}
	if err := oneOf("do", &a.Do, "open", "list", "close", "cancel"); err != nil {
		return nil, err
	}
	if (a.Do == "close" || a.Do == "cancel") && a.ID == "" {
		return nil, wrongArgument(`The argument "id" is missing: %s needs the id of a %s`, a.Do, map[string]string{"close": "session", "cancel": "task"}[a.Do])
	}
	switch a.Do {
	case "open":
		return c.open(ctx, &a)
	case "list":
		return c.listSessions(ctx)
	case "close":
		if err := checkID(address.Session, "id", a.ID); err != nil {
			return nil, err
		}
		o, err := c.play(ctx, task{Session: map[string]any{"id": a.ID, "close": true}})
		if err != nil {
			return nil, err
		}
		r := &reply{}
		r.explain(o, nil)
		if !o.refused() {
			r.head = "closed: session " + a.ID
			if err := c.cfg.Journal.Forget(ctx, c.account, a.ID); err != nil {
				c.cfg.Log.Warn().Err(err).Msg("what was noted of a session could not be removed; it expires")
			}
		}
		return r, nil
	}
	var ended struct {
		outcome
		Cancelled bool `json:"cancelled"`
	}
	path, err := pathOf(address.Task, "id", a.ID)
	if err != nil {
		return nil, err
	}
	if err := c.client.ask(ctx, http.MethodDelete, path, nil, &ended); err != nil {
		return nil, err
	}
	r := &reply{task: a.ID, failed: !ended.Success}
	switch {
	case !ended.Success:
		r.head = "refused (" + ended.Code + "): " + ended.Error
	case ended.Cancelled:
		r.head = "cancelled: task " + a.ID
	default:
		r.head = "The task " + a.ID + " had ended already: look with it shows how."
	}
	r.fact("ok", ended.Success)
	r.fact("cancelled", ended.Cancelled)
	return r, nil
}

// open opens a session, and notes which sites its pages may be from.
func (c *call) open(ctx context.Context, a *sessionArguments) (*reply, error) {
	if err := lang.CheckSites(a.Sites); err != nil {
		return nil, wrongArgument(`The argument "sites": %v`, err)
	}
	sites, err := narrow(c.policy.Sites, a.Sites)
	if err != nil {
		return nil, wrongArgument(`The argument "sites": %v: %s`, err, strings.Join(c.policy.Sites, ", "))
	}
	if a.Profile != nil {
		return nil, wrongArgument(`A session has no profile: it keeps its logins itself. Give "profile" to run, without a session`)
	}
	if err := a.Config.check(); err != nil {
		return nil, err
	}
	session := map[string]any{"preserve": true}
	if a.Timeout != 0 {
		session["timeout"] = a.Timeout
	}
	t := task{Session: session}
	if len(a.Config) > 0 { // a task without actions does nothing to the browser
		t.Config, t.Actions = a.Config.within(c.policy.config(sites)), []json.RawMessage{json.RawMessage(`{"wait":0}`)}
	}
	o, err := c.play(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &reply{}
	r.explain(o, nil)
	if o.refused() {
		return r, nil
	}
	if len(sites) > 0 {
		if err := c.cfg.Journal.Change(ctx, c.account, o.SessionID, func(k *Kept) { k.Sites = sites }); err != nil {
			// Without its sites it would be a session that may go anywhere.
			_, _ = c.play(context.WithoutCancel(ctx), task{Session: map[string]any{"id": o.SessionID, "close": true}})
			return nil, fmt.Errorf("note the sites of a session: %w", err)
		}
		r.note("Its pages may be from %s only.", strings.Join(sites, ", "))
	}
	r.head = "opened: session " + o.SessionID
	return r, nil
}

// listSessions lists the account's sessions.
func (c *call) listSessions(ctx context.Context) (*reply, error) {
	var found struct {
		outcome
		Workers []struct {
			State   string `json:"state"`
			Since   string `json:"since"`
			Session string `json:"sessionId"`
			Task    string `json:"taskId"`
		} `json:"workers"`
	}
	if err := c.client.ask(ctx, http.MethodGet, address.Fixed("/v1/workers"), nil, &found); err != nil {
		return nil, err
	}
	if !found.Success {
		return &reply{head: "refused (" + found.Code + "): " + found.Error, failed: true}, nil
	}
	r := &reply{}
	list := []map[string]any{}
	for _, w := range found.Workers {
		if w.Session == "" {
			continue
		}
		kept, err := c.cfg.Journal.Load(ctx, c.account, w.Session)
		if err != nil {
			return nil, err
		}
		one := map[string]any{"session": w.Session, "state": w.State, "since": w.Since, "actions": kept.Actions}
		text := fmt.Sprintf("session %s: %s since %s, %d actions", w.Session, w.State, w.Since, kept.Actions)
		if w.Task != "" {
			one["task"] = w.Task
			text += ", runs task " + w.Task
		}
		if len(kept.Sites) > 0 {
			one["sites"] = kept.Sites
			text += ", sites " + strings.Join(kept.Sites, ", ")
		}
		list = append(list, one)
		r.note("%s", text)
	}
	r.head = fmt.Sprintf("%d sessions", len(list))
	r.fact("ok", true)
	r.fact("sessions", list)
	return r, nil
}
