package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"troupe/engine"
	"troupe/http/address"
	"troupe/http/flows"
)

// path is that of a flow.
func (c *flowPlace) path(doing, name string) (address.Path, error) {
	path, err := address.Flow.Path(name, "")
	if err != nil {
		return path, usage("%s: %w", doing, err)
	}
	return path, nil
}

// putRemote stores a flow at the service, for the account of the token.
func (c *flowPut) putRemote(w *environment, source []byte) error {
	path, err := c.path("store a flow", c.Name)
	if err != nil {
		return err
	}
	var stored flows.Stored
	err = c.callWith(w.ctx, http.MethodPut, path, source, &stored)
	var no *refusedError
	if errors.As(err, &no) && no.Code == engine.CodeInvalidRequest {
		pointAt(w.stderr, c.File, source, no.Details)
		return usage("the flow is not valid, and was not stored")
	}
	if err != nil {
		return fmt.Errorf("store a flow: %w", err)
	}
	return c.print(w, stored, func(out io.Writer) {
		fmt.Fprintf(out, "Version %d of the flow %s is stored.\n", stored.Version, stored.Name)
		for _, f := range stored.Warnings {
			fmt.Fprintln(out, "Warning: "+f.String())
		}
	})
}

// getRemote prints a flow as its file would be: what the service adds is left out.
func (c *flowGet) getRemote(w *environment) error {
	path, err := c.path("get a flow", c.Name)
	if err != nil {
		return err
	}
	var one struct {
		Flow struct {
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
			Result      json.RawMessage `json:"result,omitempty"`
			Actions     json.RawMessage `json:"actions"`
		} `json:"flow"`
	}
	if err := c.call(w.ctx, http.MethodGet, path, &one); err != nil {
		return fmt.Errorf("get a flow: %w", err)
	}
	return operator{JSON: true}.print(w, one.Flow, nil)
}

func (c *flowList) listRemote(w *environment) ([]flows.Flow, error) {
	var all struct {
		Flows []flows.Flow `json:"flows"`
	}
	err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/flows"), &all)
	return all.Flows, err
}

func (c *flowDelete) deleteRemote(w *environment) error {
	path, err := c.path("delete a flow", c.Name)
	if err != nil {
		return err
	}
	var gone struct {
		Name string `json:"name"`
	}
	if err := c.call(w.ctx, http.MethodDelete, path, &gone); err != nil {
		return fmt.Errorf("delete a flow: %w", err)
	}
	return c.print(w, gone, func(out io.Writer) { fmt.Fprintf(out, "The flow %s is deleted.\n", gone.Name) })
}

// runRemote runs a flow as a task of the account of the token.
func (c *flowRun) runRemote(w *environment, with json.RawMessage) error {
	if err := address.Flow.Check(c.Name); err != nil {
		return usage("run a flow: %w", err)
	}
	action := map[string]any{"run": c.Name}
	if with != nil {
		action["with"] = with
	}
	task := map[string]any{"actions": []any{action}}
	if c.Timeout > 0 {
		task["timeout"] = c.Timeout.Milliseconds()
	}
	body, err := json.Marshal(task)
	if err != nil {
		return err
	}
	end := stopwatch(w, "the flow runs", terminal(w.stderr))
	resp, err := c.do(w.ctx, http.DefaultClient, http.MethodPost, address.Fixed("/v1/"), "application/json", bytes.NewReader(body))
	end()
	if err != nil {
		return fmt.Errorf("run a flow: %w", err)
	}
	defer resp.Body.Close()
	result, err := readResult(resp, *c.found)
	if err != nil {
		return fmt.Errorf("run a flow: %w", err)
	}
	return c.finish(w, result, "")
}
