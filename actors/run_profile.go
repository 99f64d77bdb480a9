package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// openedProfile is a profile that a task begins with.
type openedProfile struct {
	state   *engine.ProfileState
	version persistence.ProfileVersion
	writer  *persistence.ProfileWriter // nil: nothing is saved
	sites   []string                   // those of what is saved
}

// useProfile opens the profile of the task, and gives it to the session that the task opens,
// if it opens one. Else it is saved after the task, and given back by end.
func (p *play) useProfile(ctx context.Context, want *engine.Profile) (out *engine.ProfileState, end func(), err error) {
	x := p.run.claim.Execute
	by := x.TaskID
	if p.session != nil {
		by = p.leaves
	}
	o, err := p.openProfile(ctx, want, by)
	if err != nil {
		return nil, nil, err
	}
	end = func() {}
	if p.session != nil {
		rec := records.SessionProfile{Name: want.Name, Version: o.version.Version, Sites: o.sites, Secrets: o.version.Secrets}
		if o.writer != nil {
			rec.By = by
		}
		p.node.sessions.addProfile(p.session, newSessionProfile(p.node, x.Account.ID, rec, o.writer))
		return o.state, end, nil
	}
	if w := o.writer; w != nil {
		end = w.Close
		o.state.Keep = func(ctx context.Context, state json.RawMessage, secrets []string) error {
			_, err := SaveProfile(ctx, w, state, by, o.sites, secrets)
			return err
		}
	}
	return o.state, end, nil
}

// openProfile reads a profile. Unless it is only read, nobody else saves it until its
// writer is closed.
func (p *play) openProfile(ctx context.Context, want *engine.Profile, by string) (*openedProfile, error) {
	all, x := p.node.cfg.Profiles, p.run.claim.Execute
	if all == nil {
		return nil, api.Refuse(engine.CodeProfileNotFound, "this service keeps none")
	}
	if want.Readonly {
		return p.readProfile(ctx, want)
	}
	w, err := all.Lock(ctx, x.Account.ID, want.Name, by)
	if errors.Is(err, persistence.ErrProfileBusy) && want.Copy {
		out, err := p.readProfile(ctx, want)
		if no := api.RefusalFor(err); err != nil && no.Code == engine.CodeProfileNotFound { // its first task is running
			out, err = &openedProfile{state: &engine.ProfileState{}}, nil
		}
		if err == nil {
			out.state.Copied = true
		}
		return out, err
	}
	if err != nil {
		return nil, err
	}
	before := w.Newest()
	if no := outside(x.Task, want.Name, before); no != nil {
		w.Close()
		return nil, no
	}
	state, err := w.State(ctx)
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("read the task's profile: %w", err)
	}
	sites := x.Task.Bound()
	if len(sites) == 0 { // the task is bound by what it uses
		sites = before.Sites
	}
	return &openedProfile{&engine.ProfileState{State: state, Sites: before.Sites, Secrets: before.Secrets}, before, w, sites}, nil
}

func (p *play) readProfile(ctx context.Context, want *engine.Profile) (*openedProfile, error) {
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
	return &openedProfile{state: &engine.ProfileState{State: state, Sites: version.Sites, Secrets: version.Secrets}, version: version}, nil
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
