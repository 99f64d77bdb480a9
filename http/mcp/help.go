package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/address"
)

// maxHelp bounds how many actions one call explains.
const maxHelp = 20

// helpTool explains actions.
func helpTool(_ context.Context, _ *call, raw json.RawMessage) (*reply, error) {
	var a struct {
		Names []string `json:"names"`
	}
	if err := arguments(raw, &a); err != nil {
		return nil, err
	}
	if len(a.Names) == 0 || len(a.Names) > maxHelp {
		return nil, wrongArgument(`The argument "names" must have 1 to %d names of actions, such as ["click","extractAll"]`, maxHelp)
	}
	r := &reply{tokens: 2 * defaultTokens}
	var texts []string
	for _, name := range a.Names {
		text := engine.Help(name)
		if name == configHelp {
			text = helpConfig()
		}
		if text == "" {
			text = "There is no action " + lang.Short(name, 60) + lang.DidYouMean(name, engine.ActionNames()) + "\n"
			r.failed = true
		}
		texts = append(texts, text)
	}
	r.head = strings.TrimRight(strings.Join(texts, "\n"), "\n")
	return r, nil
}

// validateTool checks a list.
func validateTool(ctx context.Context, c *call, raw json.RawMessage) (*reply, error) {
	var a struct {
		Actions json.RawMessage `json:"actions"`
	}
	if err := arguments(raw, &a); err != nil {
		return nil, err
	}
	actions, err := list(a.Actions)
	if err != nil {
		return nil, err
	}
	var v struct {
		outcome
		Valid    bool     `json:"valid"`
		Faults   []detail `json:"faults"`
		Warnings []detail `json:"warnings"`
		Actions  int      `json:"actions"`
	}
	if err := c.client.ask(ctx, http.MethodPost, address.Fixed("/v1/validate"), task{Actions: actions, Config: c.policy.config(c.policy.Sites)}, &v); err != nil {
		return nil, err
	}
	r := &reply{failed: !v.Valid}
	switch {
	case !v.Success:
		r.head = "refused (" + v.Code + "): " + v.Error
	case v.Valid:
		r.head = "valid"
	default:
		r.head = "not valid:"
	}
	for _, f := range v.Faults {
		r.note("%s: %s", f.Path, f.Message)
	}
	for _, w := range v.Warnings {
		r.note("warning: %s: %s", w.Path, w.Message)
	}
	r.fact("ok", v.Success)
	r.fact("valid", v.Valid)
	return r, nil
}
