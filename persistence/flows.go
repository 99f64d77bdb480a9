package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"troupe/persistence/owned"
)

// Flow is one version of a list of actions that an account has stored.
type Flow struct {
	Name    string    `json:"name"`
	Version int       `json:"version"`
	Source  []byte    `json:"source"`
	Created time.Time `json:"created"`
	By      *Issuer   `json:"by,omitempty"` // that stored it
	// Sites are those of the token that stored it; none: any.
	Sites []string `json:"sites,omitempty"`
	// First is the version that the flow began with, where an earlier flow had the name.
	First int `json:"first,omitempty"`
}

// removedFlow is what stays of a flow: the next one with its name has later versions, so
// that a reference to a version never means another list.
type removedFlow struct {
	Version int `json:"version"`
}

// The newest version of a flow is at flowPrefix, followed by the account's identifier
// and the flow's name. Earlier ones are at flowVersionPrefix, with the version behind
// the name. So the newest is one record, and storing the next is one conditional write.
// What stays of a removed flow is at flowRemovedPrefix, with the same.
const (
	flowPrefix        = "flow/"
	flowVersionPrefix = "flow-version/"
	flowRemovedPrefix = "flow-removed/"
)

// ModelSessionPrefix is followed by the account's identifier and a session: what a model
// has done in it.
const ModelSessionPrefix = "model-session/"

var (
	_ = owned.Register(owned.Kind{Prefix: flowPrefix, By: owned.Key, Apart: "MaxFlows and MaxFlowBytes"})
	_ = owned.Register(owned.Kind{Prefix: flowVersionPrefix, By: owned.Key, Apart: "MaxFlowBytes"})
	_ = owned.Register(owned.Kind{Prefix: flowRemovedPrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: ModelSessionPrefix, By: owned.Key})
)

// Bounds of the flows of one account.
const (
	MaxFlows     = 200
	FlowVersions = 20      // of one flow, the newest included
	MaxFlowBytes = 8 << 20 // of all versions of all flows
)

// removedFor is how long the versions of a removed flow are not given again.
const removedFor = 365 * 24 * time.Hour

// Flows keeps flows of accounts.
type Flows struct {
	store Store
}

// NewFlows keeps flows in a store.
func NewFlows(store Store) *Flows { return &Flows{store: store} }

func flowKey(account, name string) string { return flowPrefix + account + "/" + name }

func versionKey(account, name string, version int) string {
	return flowVersionPrefix + account + "/" + name + "/" + strconv.Itoa(version)
}

// Put stores the next version of a flow, and returns it.
func (f *Flows) Put(ctx context.Context, account string, flow Flow) (Flow, error) {
	for {
		var stored Flow
		err := InTurn(ctx, f.store, "flows/"+account, func(ctx context.Context) (err error) {
			stored, err = f.put(ctx, account, flow)
			return err
		})
		if errors.Is(err, ErrConflict) && ctx.Err() == nil {
			continue // another node has stored a version
		}
		if err != nil {
			return Flow{}, fmt.Errorf("store the flow %q: %w", flow.Name, err)
		}
		return stored, nil
	}
}

func (f *Flows) put(ctx context.Context, account string, flow Flow) (Flow, error) {
	last, err := f.store.Get(ctx, flowKey(account, flow.Name))
	isNew := errors.Is(err, ErrNotFound)
	if err != nil && !isNew {
		return Flow{}, err
	}
	flow.Created = time.Now().UTC()
	if isNew {
		removed, err := f.removed(ctx, account, flow.Name)
		if err != nil {
			return Flow{}, err
		}
		if flow.Version = removed + 1; removed > 0 {
			flow.First = flow.Version
		}
	} else {
		before, err := flowOf(last)
		if err != nil {
			return Flow{}, err
		}
		flow.Version, flow.First = before.Version+1, before.First
	}
	value, err := json.Marshal(flow)
	if err != nil {
		return Flow{}, err
	}
	if err := f.room(ctx, account, flow, isNew, len(value)); err != nil {
		return Flow{}, err
	}
	if !isNew { // a copy of the newest version harms nobody where the next write fails
		if _, err := f.store.Put(ctx, Write{Key: versionKey(account, flow.Name, flow.Version-1), Value: last.Value, Durable: true}); err != nil {
			return Flow{}, err
		}
	}
	if _, err := PutOwn(ctx, f.store, Write{Key: flowKey(account, flow.Name), Value: value, If: &last.Revision, Durable: true}); err != nil {
		return Flow{}, err
	}
	if over := flow.Version - FlowVersions; over > 0 {
		// Nobody reads it any more. What stays after an error goes with the flow.
		_ = f.store.Delete(ctx, versionKey(account, flow.Name, over), nil, false)
	}
	return flow, nil
}

// removed is the last version of a flow that had the name before, 0 where none had.
func (f *Flows) removed(ctx context.Context, account, name string) (int, error) {
	r, err := f.store.Get(ctx, flowRemovedPrefix+account+"/"+name)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	var was removedFlow
	if err == nil {
		err = json.Unmarshal(r.Value, &was)
	}
	return was.Version, err
}

// room refuses a version that the account has no room for.
func (f *Flows) room(ctx context.Context, account string, flow Flow, isNew bool, size int) error {
	newest, err := f.store.List(ctx, flowPrefix+account+"/")
	if err != nil {
		return err
	}
	if isNew && len(newest) >= MaxFlows {
		return fmt.Errorf("%w: an account has at most %d flows", ErrTooMany, MaxFlows)
	}
	older, err := f.store.List(ctx, flowVersionPrefix+account+"/")
	if err != nil {
		return err
	}
	ends := versionKey(account, flow.Name, flow.Version-FlowVersions)
	for _, r := range append(newest, older...) {
		if r.Key != ends {
			size += len(r.Value)
		}
	}
	if size > MaxFlowBytes {
		return fmt.Errorf("%w: all versions of an account's flows have at most %d bytes together", ErrTooMany, MaxFlowBytes)
	}
	return nil
}

// Get returns a version of a flow, or the newest one for 0. One that is not kept is
// [ErrNotFound].
func (f *Flows) Get(ctx context.Context, account, name string, version int) (Flow, error) {
	r, err := f.store.Get(ctx, flowKey(account, name))
	if err != nil {
		return Flow{}, err
	}
	newest, err := flowOf(r)
	switch {
	case err != nil, version == 0 || version == newest.Version:
		return newest, err
	case version < newest.oldest() || version > newest.Version:
		return Flow{}, ErrNotFound
	}
	if r, err = f.store.Get(ctx, versionKey(account, name, version)); err != nil {
		return Flow{}, err
	}
	return flowOf(r)
}

// oldest is the earliest version that is kept beside the newest one.
func (f Flow) oldest() int { return max(1, f.First, f.Version-FlowVersions+1) }

// Versions are those that are kept, if the flow is the newest one.
func (f Flow) Versions() (all []int) {
	for v := f.oldest(); v <= f.Version; v++ {
		all = append(all, v)
	}
	return all
}

// List returns the newest versions of an account's flows, by name.
func (f *Flows) List(ctx context.Context, account string) ([]Flow, error) {
	records, err := f.store.List(ctx, flowPrefix+account+"/")
	if err != nil {
		return nil, fmt.Errorf("list flows: %w", err)
	}
	all := make([]Flow, 0, len(records))
	for _, r := range records {
		flow, err := flowOf(r)
		if err != nil {
			return nil, err
		}
		all = append(all, flow)
	}
	return all, nil
}

// Remove deletes a flow with all its versions. One that is not there is ErrNotFound.
func (f *Flows) Remove(ctx context.Context, account, name string) error {
	return InTurn(ctx, f.store, "flows/"+account, func(ctx context.Context) error { return f.remove(ctx, account, name) })
}

func (f *Flows) remove(ctx context.Context, account, name string) error {
	last, err := f.store.Get(ctx, flowKey(account, name))
	if err == nil {
		err = f.remember(ctx, account, name, last)
	}
	if err == nil { // the newest one last: as long as it is there, it can be removed again
		err = forgetAll(ctx, f.store, flowVersionPrefix+account+"/"+name+"/")
	}
	if err == nil {
		err = f.store.Delete(ctx, flowKey(account, name), nil, true)
	}
	if err != nil {
		return fmt.Errorf("remove the flow %q: %w", name, err)
	}
	return nil
}

// remember writes which version of a flow was the last.
func (f *Flows) remember(ctx context.Context, account, name string, last Record) error {
	flow, err := flowOf(last)
	if err != nil {
		return err
	}
	b, err := json.Marshal(removedFlow{flow.Version})
	if err == nil {
		_, err = f.store.Put(ctx, Write{Key: flowRemovedPrefix + account + "/" + name, Value: b, Expires: time.Now().Add(removedFor), Durable: true})
	}
	return err
}

func flowOf(r Record) (f Flow, err error) {
	if err = json.Unmarshal(r.Value, &f); err != nil {
		return f, fmt.Errorf("read the flow at %s: %w", r.Key, err)
	}
	if !strings.HasSuffix(r.Key, "/"+f.Name) && !strings.HasSuffix(r.Key, "/"+f.Name+"/"+strconv.Itoa(f.Version)) {
		return f, fmt.Errorf("read the flow at %s: it is version %d of %q", r.Key, f.Version, f.Name)
	}
	return f, nil
}

// forgetAll deletes the records whose keys begin so.
func forgetAll(ctx context.Context, store Store, prefix string) error {
	records, err := store.List(ctx, prefix)
	for _, r := range records {
		err = errors.Join(err, store.Delete(ctx, r.Key, nil, true))
	}
	return err
}
