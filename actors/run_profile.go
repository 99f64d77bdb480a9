package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// openProfile reads the profile that a task uses. Unless it only reads, no other task
// saves the profile until end is called.
func (p *play) openProfile(ctx context.Context, want *engine.Profile) (out *engine.ProfileState, end func(), err error) {
	all, x := p.node.cfg.Profiles, p.run.claim.Execute
	if all == nil {
		return nil, nil, api.Refuse(engine.CodeProfileNotFound, "this service keeps none")
	}
	if want.Readonly {
		out, err := p.readProfile(ctx, want)
		return out, func() {}, err
	}
	w, err := all.Lock(ctx, x.Account.ID, want.Name, x.TaskID)
	if errors.Is(err, persistence.ErrProfileBusy) && want.Copy {
		out, err := p.readProfile(ctx, want)
		if no := api.RefusalFor(err); err != nil && no.Code == engine.CodeProfileNotFound { // its first task is running
			out, err = &engine.ProfileState{}, nil
		}
		if err == nil {
			out.Copied = true
		}
		return out, func() {}, err
	}
	if err != nil {
		return nil, nil, err
	}
	before := w.Newest()
	if no := outside(x.Task, want.Name, before); no != nil {
		w.Close()
		return nil, nil, no
	}
	state, err := w.State(ctx)
	if err != nil {
		w.Close()
		return nil, nil, fmt.Errorf("read the task's profile: %w", err)
	}
	sites := x.Task.Bound()
	if len(sites) == 0 { // the task is bound by what it uses
		sites = before.Sites
	}
	keep := func(ctx context.Context, state json.RawMessage, secrets []string) error {
		_, err := SaveProfile(ctx, w, state, x.TaskID, sites, secrets)
		return err
	}
	return &engine.ProfileState{State: state, Keep: keep, Sites: before.Sites, Secrets: before.Secrets}, w.Close, nil
}

func (p *play) readProfile(ctx context.Context, want *engine.Profile) (*engine.ProfileState, error) {
	state, version, err := p.node.cfg.Profiles.State(ctx, p.run.claim.Execute.Account.ID, want.Name, want.Version)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, api.Refuse(engine.CodeProfileNotFound, fmt.Sprintf("%q", want.Name))
	}
	if err != nil {
		return nil, fmt.Errorf("read the task's profile: %w", err)
	}
	if no := outside(p.run.claim.Execute.Task, want.Name, version); no != nil {
		return nil, no
	}
	return &engine.ProfileState{State: state, Sites: version.Sites, Secrets: version.Secrets}, nil
}

// outside refuses a profile that was saved with more sites than the task's token has.
func outside(t *engine.Task, name string, v persistence.ProfileVersion) error {
	if v.Version == 0 || engine.SitesWithin(v.Sites, t.Bound()) {
		return nil
	}
	return api.OutsideOf(fmt.Sprintf("the profile %q", name))
}

// SaveProfile saves a storage state as the next version of a profile, by a task or, with
// an empty one, by an import. Sites are those of its token, and secrets the names of those
// that may be in it.
func SaveProfile(ctx context.Context, w *persistence.ProfileWriter, state json.RawMessage, task string, sites, secrets []string) (persistence.Profile, error) {
	var s engine.StorageState
	if err := json.Unmarshal(state, &s); err != nil {
		return persistence.Profile{}, fmt.Errorf("save a profile: %w", err)
	}
	v := persistence.ProfileVersion{By: task, Cookies: len(s.Cookies), Sites: sites, Secrets: secrets}
	for _, o := range s.Origins {
		v.Origins = append(v.Origins, o.Origin)
	}
	return w.Save(ctx, state, v)
}
