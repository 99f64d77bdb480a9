package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/flows"
	"troupe/persistence"
)

// PutFlow stores the next version of a flow of an account.
type PutFlow struct {
	Account string `json:"account"`
	Name    string `json:"name"`
	Source  []byte `json:"source"`
}

func (PutFlow) path() string    { return "/flow/put" }
func (p PutFlow) about() string { return p.Account + "/" + p.Name }

// Do is part of [Command].
func (p PutFlow) Do(ctx context.Context, o *Admin) (FlowStored, error) {
	a, err := o.account(ctx, p.Account)
	if err != nil {
		return FlowStored{}, err
	}
	if len(p.Source) > engine.MaxFlow {
		return FlowStored{}, fmt.Errorf("the flow has %d bytes: want at most %d", len(p.Source), engine.MaxFlow)
	}
	stored, err := flows.Put(ctx, o.Flows, a.ID, p.Name, p.Source, o.By)
	var invalid *engine.Invalid
	if errors.As(err, &invalid) {
		return FlowStored{Faults: invalid.Faults}, nil // for people who correct them: a sentence would be long
	}
	if err != nil {
		return FlowStored{}, err
	}
	return FlowStored{Stored: stored}, nil
}

// FlowStored is what was stored, or what is wrong with the flow.
type FlowStored struct {
	*flows.Stored
	Faults []lang.Fault `json:"faults,omitempty"`
}

// detail is for the audit log.
func (s FlowStored) detail() string {
	if s.Stored == nil {
		return "it is not valid"
	}
	return fmt.Sprintf("version %d", s.Version)
}

// ListFlows lists the flows of an account, by name.
type ListFlows struct {
	Account string `json:"account"`
}

func (ListFlows) path() string { return "/flow/list" }

// Do is part of [Command].
func (l ListFlows) Do(ctx context.Context, o *Admin) ([]flows.Flow, error) {
	a, err := o.account(ctx, l.Account)
	if err != nil {
		return nil, err
	}
	return flows.List(ctx, o.Flows, a.ID)
}

// GetFlow returns a version of a flow as it was stored.
type GetFlow struct {
	Account string `json:"account"`
	Name    string `json:"name"` // or name@version
}

func (GetFlow) path() string { return "/flow/show" }

// Do is part of [Command].
func (g GetFlow) Do(ctx context.Context, o *Admin) (FlowSource, error) {
	a, err := o.account(ctx, g.Account)
	if err != nil {
		return FlowSource{}, err
	}
	found, err := engine.StoredFlow{}, engine.ErrNoFlow
	if name, version, ok := engine.ParseFlowReference(g.Name); ok {
		found, err = flows.Of(ctx, o.Flows, a.ID).Flow(name, version)
	}
	if errors.Is(err, engine.ErrNoFlow) {
		err = fmt.Errorf("account %q has no flow %q", a.Name, g.Name)
	}
	return FlowSource{found.Name, found.Version, found.Source}, err
}

// FlowSource is a version of a flow as it was stored.
type FlowSource struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Source  []byte `json:"source"`
}

// RemoveFlow deletes a flow with all its versions. Tasks that have begun go on with it.
type RemoveFlow struct {
	Account string `json:"account"`
	Name    string `json:"name"`
}

func (RemoveFlow) path() string    { return "/flow/remove" }
func (r RemoveFlow) about() string { return r.Account + "/" + r.Name }

// Do is part of [Command].
func (r RemoveFlow) Do(ctx context.Context, o *Admin) (FlowRemoved, error) {
	a, err := o.account(ctx, r.Account)
	if err != nil {
		return FlowRemoved{}, err
	}
	err = persistence.ErrNotFound
	if engine.IsFlowName(r.Name) {
		err = o.Flows.Remove(ctx, a.ID, r.Name)
	}
	if errors.Is(err, persistence.ErrNotFound) {
		err = fmt.Errorf("account %q has no flow %q", a.Name, r.Name)
	}
	return FlowRemoved{r.Name, a.Name}, err
}

// FlowRemoved is a flow that was deleted.
type FlowRemoved struct {
	Name    string `json:"name"`
	Account string `json:"account"`
}

// RunFlow runs a flow as a task of the account.
type RunFlow struct {
	Account string          `json:"account"`
	Name    string          `json:"name"` // or name@version
	With    json.RawMessage `json:"with,omitempty"`
	Timeout int64           `json:"timeout,omitempty"` // milliseconds; zero: that of every task
}

func (RunFlow) path() string    { return "/flow/run" }
func (r RunFlow) about() string { return r.Account + "/" + r.Name }

// takes is longer than any plan allows: the task has its own time.
func (RunFlow) takes() time.Duration { return 24 * time.Hour }

// Do is part of [Command].
func (r RunFlow) Do(ctx context.Context, o *Admin) (FlowPlayed, error) {
	if o.Service == nil {
		return FlowPlayed{}, errors.New("no service runs: start it first")
	}
	a, err := o.account(ctx, r.Account)
	if err != nil {
		return FlowPlayed{}, err
	}
	action := map[string]any{"run": r.Name}
	if len(r.With) > 0 {
		action["with"] = r.With
	}
	task := map[string]any{"actions": []any{action}}
	if r.Timeout > 0 {
		task["timeout"] = r.Timeout
	}
	b, err := json.Marshal(task)
	if err != nil {
		return FlowPlayed{}, fmt.Errorf("make the task: %w", err)
	}
	var invalid *engine.Invalid
	answer, success, err := o.Service.Play(ctx, a, b)
	if errors.As(err, &invalid) {
		texts := make([]string, len(invalid.Faults))
		for i, f := range invalid.Faults {
			texts[i] = f.Message
		}
		err = errors.New(strings.Join(texts, "; "))
	}
	return FlowPlayed{success, answer}, err
}

// FlowPlayed is how the task of a flow ended.
type FlowPlayed struct {
	Success bool            `json:"success"`
	Answer  json.RawMessage `json:"answer"` // as the API would give it
}

func (p FlowPlayed) detail() string {
	if p.Success {
		return "it succeeded"
	}
	return "it failed"
}
