package flows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/persistence"
)

// Flow is a version of a flow, as answers show it.
type Flow struct {
	Name        string              `json:"name"`
	Version     int                 `json:"version"`
	Versions    []int               `json:"versions,omitempty"` // that are kept; only of the newest one
	Created     time.Time           `json:"createdAt"`
	StoredBy    *persistence.Issuer `json:"storedBy,omitempty"`
	Sites       []string            `json:"sites,omitempty"` // of the token that stored it; missing: any
	Description string              `json:"description,omitempty"`
	Parameters  json.RawMessage     `json:"parameters"`
	Result      json.RawMessage     `json:"result,omitempty"`
	Actions     json.RawMessage     `json:"actions,omitempty"` // not in a list of flows
}

// Stored is what is known of a version that was stored.
type Stored struct {
	Name     string       `json:"name"`
	Version  int          `json:"version"`
	Actions  int          `json:"actions"`   // nested ones and those of other flows included
	Longest  int64        `json:"worstCase"` // milliseconds
	Warnings []lang.Fault `json:"warnings"`
}

// ErrBadName says what a flow can be called.
var ErrBadName = errors.New("want a name of 1 to 64 letters, digits and _ . -, beginning with a letter or a digit")

// account is the flows that tasks of an account can run.
type account struct {
	ctx   context.Context
	store *persistence.Flows
	id    string
}

// Of are the stored flows of an account, as its tasks find them. Without a store there
// are none.
func Of(ctx context.Context, store *persistence.Flows, id string) engine.Flows {
	if store == nil {
		return nil
	}
	return account{ctx, store, id}
}

// Flow is part of [engine.Flows].
func (a account) Flow(name string, version int) (engine.StoredFlow, error) {
	found, err := a.store.Get(a.ctx, a.id, name, version)
	if errors.Is(err, persistence.ErrNotFound) {
		err = engine.ErrNoFlow
	}
	return engine.StoredFlow{Name: found.Name, Version: found.Version, Source: found.Source, Sites: found.Sites}, err
}

// FlowNames is part of [engine.Flows].
func (a account) FlowNames() (names []string) {
	all, _ := a.store.List(a.ctx, a.id) // they are for a suggestion
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

// Put checks a flow and stores it as the next version. An [*engine.Invalid] names its
// faults.
func Put(ctx context.Context, store *persistence.Flows, id, name string, source []byte, by persistence.Issuer) (*Stored, error) {
	return PutRunning(ctx, store, id, name, source, by, nil, Of(ctx, store, id))
}

// PutRunning is [Put] for a token with sites, or with none, and where the flows that the
// flow runs are found as for the token.
func PutRunning(ctx context.Context, store *persistence.Flows, id, name string, source []byte, by persistence.Issuer, sites []string, runs engine.Flows) (*Stored, error) {
	if !engine.IsFlowName(name) {
		return nil, ErrBadName
	}
	f, err := engine.ParseFlow(name, source, runs)
	if err != nil {
		return nil, err
	}
	stored, err := store.Put(ctx, id, persistence.Flow{Name: name, Source: source, By: &by, Sites: sites})
	if err != nil {
		return nil, err
	}
	review := f.Review()
	return &Stored{name, stored.Version, review.Actions, review.Longest, append([]lang.Fault{}, review.Warnings...)}, nil
}

// Get returns a flow by its name, or by its name and a version as in sign-in@3. One that
// is not there is [persistence.ErrNotFound].
func Get(ctx context.Context, store *persistence.Flows, id, reference string) (*Flow, error) {
	name, version, ok := engine.ParseFlowReference(reference)
	if !ok {
		return nil, persistence.ErrNotFound
	}
	found, err := store.Get(ctx, id, name, version)
	if err != nil {
		return nil, err
	}
	f, err := shown(found)
	if err == nil && version == 0 {
		f.Versions = found.Versions()
	}
	return f, err
}

// List returns the newest versions of an account's flows by name, without their
// actions.
func List(ctx context.Context, store *persistence.Flows, id string) ([]Flow, error) {
	found, err := store.List(ctx, id)
	if err != nil {
		return nil, err
	}
	all := make([]Flow, 0, len(found))
	for _, one := range found {
		f, err := shown(one)
		if err != nil {
			return nil, err
		}
		f.Actions, f.Versions = nil, one.Versions()
		all = append(all, *f)
	}
	return all, nil
}

// shown is a flow with the parts of its source.
func shown(p persistence.Flow) (*Flow, error) {
	f := &Flow{}
	if err := json.Unmarshal(p.Source, f); err != nil {
		return nil, fmt.Errorf("read the flow %q: %w", p.Name, err)
	}
	f.Name, f.Version, f.Created, f.StoredBy, f.Sites, f.Versions = p.Name, p.Version, p.Created, p.By, p.Sites, nil
	if len(f.Parameters) == 0 || string(f.Parameters) == "null" {
		f.Parameters = json.RawMessage("{}")
	}
	return f, nil
}
