package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"troupe/http/address"
)

type flowArguments struct {
	Do          string                     `json:"do"`
	Name        string                     `json:"name"`
	Description string                     `json:"description"`
	Session     string                     `json:"session"`
	Parameters  map[string]json.RawMessage `json:"parameters"`
	Last        int                        `json:"last"`
	With        json.RawMessage            `json:"with"`
	Snapshot    string                     `json:"snapshot"`
	budget
}

// flowTool saves what a session has done as a flow, and lists and runs flows.
func flowTool(ctx context.Context, c *call, raw json.RawMessage) (*reply, error) {
	var a flowArguments
	if err := arguments(raw, &a); err != nil {
		return nil, err
	}
	if a.Do == "" {
		a.Do = "-"
	}
	if err := oneOf("do", &a.Do, "save", "list", "run"); err != nil {
		return nil, err
	}
	if a.Do != "list" && a.Name == "" {
		return nil, wrongArgument(`The argument "name" is missing: the name of the flow`)
	}
	switch a.Do {
	case "save":
		return c.save(ctx, &a)
	case "list":
		return c.listFlows(ctx)
	}
	if err := checkID(address.Flow, "name", a.Name); err != nil {
		return nil, err
	}
	action := map[string]any{"run": a.Name}
	if len(a.With) > 0 && string(a.With) != "null" {
		action["with"] = a.With
	}
	one, err := marshal(action)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, []json.RawMessage{one}, &runArguments{Session: a.Session, Snapshot: a.Snapshot, budget: a.budget})
}

// save stores the successful steps of a session as a flow.
func (c *call) save(ctx context.Context, a *flowArguments) (*reply, error) {
	path, err := pathOf(address.Flow, "name", a.Name)
	if err != nil {
		return nil, err
	}
	if a.Session == "" || a.Session == newSession {
		return nil, wrongArgument(`The argument "session" is missing: the session whose actions are saved`)
	}
	kept, err := c.cfg.Journal.Load(ctx, c.account, a.Session)
	if err != nil {
		return nil, fmt.Errorf("read what is known of the session: %w", err)
	}
	if a.Last < 0 || len(kept.Steps) == 0 {
		return nil, wrongArgument("Nothing of the session %s can be saved: only actions that succeeded in it, through run, can", a.Session)
	}
	steps := kept.Steps
	r := &reply{session: a.Session}
	switch {
	case a.Last > 0 && a.Last < len(steps):
		steps = steps[len(steps)-a.Last:]
	case kept.Left > 0:
		r.note("The first %d actions of the session are no longer known: the flow begins after them.", kept.Left)
	}
	source, params, missed, err := compose(steps, a.Description, a.Parameters)
	if err != nil {
		return nil, err
	}
	for _, name := range missed {
		r.note("No action contains the value of %q as a whole word, so nothing was replaced.", name)
	}
	var stored struct {
		outcome
		Name     string   `json:"name"`
		Version  int      `json:"version"`
		Actions  int      `json:"actions"`
		Warnings []detail `json:"warnings"`
	}
	if err := c.client.ask(ctx, http.MethodPut, path, source, &stored); err != nil {
		return nil, err
	}
	if !stored.Success {
		r.failed = true
		r.head = "refused (" + stored.Code + "): " + stored.Error
		for _, d := range stored.Details {
			r.note("%s: %s", d.Path, d.Message)
		}
		return r, nil
	}
	r.head = fmt.Sprintf("saved: version %d of %s, %d actions", stored.Version, stored.Name, stored.Actions)
	with := map[string]string{}
	for _, p := range params {
		if with[p.name] = "…"; p.secret {
			with[p.name] = "${secret:" + p.name + "}"
		}
	}
	example := map[string]any{"run": stored.Name}
	if len(with) > 0 {
		example["with"] = with
	}
	if b, err := marshal(example); err == nil {
		r.note("Run it without a model: POST /v1/ with {\"actions\":[%s]}, or here: flow with do \"run\".", b)
	}
	for _, w := range stored.Warnings {
		r.note("warning: %s: %s", w.Path, w.Message)
	}
	r.fact("ok", true)
	r.fact("name", stored.Name)
	r.fact("version", stored.Version)
	r.fact("actions", stored.Actions)
	return r, nil
}

// listFlows lists the account's flows.
func (c *call) listFlows(ctx context.Context) (*reply, error) {
	var found struct {
		outcome
		Flows []struct {
			Name        string          `json:"name"`
			Version     int             `json:"version"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"flows"`
	}
	if err := c.client.ask(ctx, http.MethodGet, address.Fixed("/v1/flows"), nil, &found); err != nil {
		return nil, err
	}
	if !found.Success {
		return &reply{head: "refused (" + found.Code + "): " + found.Error, failed: true}, nil
	}
	r := &reply{head: fmt.Sprintf("%d flows", len(found.Flows))}
	list, lines := []map[string]any{}, []string{}
	for _, f := range found.Flows {
		// Other people of the account write descriptions, or pages that a model has believed.
		lines = append(lines, fmt.Sprintf("%s@%d: %s parameters %s", f.Name, f.Version, strings.Join(strings.Fields(f.Description), " "), f.Parameters))
		list = append(list, map[string]any{"name": f.Name, "version": f.Version})
	}
	r.part("", strings.Join(lines, "\n"), "")
	r.fact("ok", true)
	r.fact("flows", list)
	return r, nil
}
