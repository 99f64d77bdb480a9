package notice

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

const (
	// maxEndpoints is how many endpoints an account may name.
	maxEndpoints = 20
	// maxStates is how many failing receivers of an account are known. Further ones are
	// never switched off: their notices are given up after a day.
	maxStates = 1000
)

func (m *Notices) isOff(a *account, url string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !a.states[records.EndpointID(url)].Off.IsZero()
}

// note takes the result of an attempt: a receiver that fails for days, or says that it
// is gone, is switched off.
func (m *Notices) note(a *account, url string, try api.NoticeTry, gone bool) error {
	id, now, disk := records.EndpointID(url), time.Now(), m.cfg.Records.Notices()
	m.mu.Lock()
	s, known := a.states[id]
	off := false
	switch {
	case a.gone || !known && try.Error == "":
		m.mu.Unlock()
		return nil
	case try.Error == "":
		delete(a.states, id)
		m.mu.Unlock()
		return disk.DeleteState(a.ctx, a.id, id)
	case !known && m.manyStates(a, now):
		m.mu.Unlock()
		return nil
	case !known:
		s = records.EndpointState{URL: url, Failing: now}
	}
	if s.Off.IsZero() && (gone || now.Sub(s.Failing) >= m.cfg.OffAt) {
		off, s.Off, s.Reason = true, now, try.Error
	}
	a.states[id] = s
	m.mu.Unlock()
	if !known || off {
		if err := disk.PutState(a.ctx, a.id, s); err != nil {
			return err
		}
	}
	if !off {
		return nil
	}
	m.cfg.Log.Warn().Str("account", persistence.AccountName(a.id)).Str("endpoint", id).Str("host", hostOf(url)).Str("reason", s.Reason).Msg("endpoint of notices switched off")
	list, err := disk.OfEndpoint(a.ctx, a.id, s)
	if err == nil {
		m.added(list)
	}
	return err
}

// manyStates reports whether no further failing receivers of an account are to be known.
// Those that fail for longer than it takes to be switched off get nothing any more.
func (m *Notices) manyStates(a *account, now time.Time) bool {
	if len(a.states) < maxStates {
		return false
	}
	maps.DeleteFunc(a.states, func(_ string, s records.EndpointState) bool {
		return s.Off.IsZero() && now.Sub(s.Failing) > m.cfg.OffAt+24*time.Hour
	})
	return len(a.states) >= maxStates
}

// Endpoints lists the endpoints of an account, and the receivers of its tasks that are
// switched off.
func (m *Notices) Endpoints(ctx context.Context, r *api.ListEndpoints) (*api.EndpointsListed, error) {
	all, err := m.cfg.Records.Notices().Endpoints(ctx, r.Account.ID)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	states, err := m.states(ctx, r.Account.ID)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	l := &api.EndpointsListed{}
	if l.Unreadable, err = m.cfg.Records.Notices().Unreadable(ctx, r.Account.ID); err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	for _, p := range all {
		id := records.EndpointID(p.URL)
		l.Endpoints = append(l.Endpoints, endpoint(p.Notify, states[id]))
		delete(states, id)
	}
	named := len(l.Endpoints)
	for _, s := range states {
		if !s.Off.IsZero() {
			l.Endpoints = append(l.Endpoints, endpoint(engine.Notify{URL: s.URL}, s))
		}
	}
	slices.SortFunc(l.Endpoints[named:], func(a, b api.Endpoint) int { return strings.Compare(a.ID, b.ID) })
	return l, nil
}

func endpoint(n engine.Notify, s records.EndpointState) api.Endpoint {
	return api.Endpoint{ID: records.EndpointID(n.URL), Notify: n, Failing: s.Failing, Off: s.Off, Reason: s.Reason}
}

// PutEndpoint names a receiver for all tasks and batches of an account.
func (m *Notices) PutEndpoint(ctx context.Context, r *api.PutEndpoint) (*api.EndpointChanged, error) {
	full, err := m.cfg.Records.Notices().PutEndpoint(ctx, r.Account.ID, records.Endpoint{Notify: r.Notify, Created: time.Now()}, maxEndpoints)
	switch {
	case err != nil:
		return nil, fmt.Errorf("write an endpoint: %w", err)
	case full:
		return &api.EndpointChanged{Refusal: &api.Refusal{Code: engine.CodeInvalidRequest, Text: fmt.Sprintf("The account has %d endpoints, as many as it may: remove one", maxEndpoints)}}, nil
	}
	return m.changed(ctx, r.Account, records.EndpointID(r.Notify.URL))
}

// ChangeEndpoint removes an endpoint, or switches one on again.
func (m *Notices) ChangeEndpoint(ctx context.Context, r *api.ChangeEndpoint) (*api.EndpointChanged, error) {
	x, err := m.changed(ctx, r.Account, r.ID)
	if err == nil && x.Refusal != nil && r.Change == api.EndpointRemove {
		x, err = m.removeUnreadable(ctx, r, x)
	}
	if err != nil || x.Refusal != nil {
		return x, err
	}
	if r.Change == api.EndpointRemove {
		if err := m.cfg.Records.Notices().RemoveEndpoint(ctx, r.Account.ID, r.ID); err != nil {
			return nil, fmt.Errorf("remove an endpoint: %w", err)
		}
	}
	if err := m.cfg.Records.Notices().DeleteState(ctx, r.Account.ID, r.ID); err != nil {
		return nil, fmt.Errorf("change an endpoint: %w", err)
	}
	m.mu.Lock()
	m.forgetState(r.Account.ID, r.ID)
	m.mu.Unlock()
	x.Endpoint.Failing, x.Endpoint.Off, x.Endpoint.Reason = time.Time{}, time.Time{}, ""
	return x, nil
}

// removeUnreadable allows the removal of an endpoint that cannot be opened: nothing but its
// identifier is known. Any other one stays refused.
func (m *Notices) removeUnreadable(ctx context.Context, r *api.ChangeEndpoint, refused *api.EndpointChanged) (*api.EndpointChanged, error) {
	ids, err := m.cfg.Records.Notices().Unreadable(ctx, r.Account.ID)
	if err != nil || !slices.Contains(ids, r.ID) {
		return refused, err
	}
	return &api.EndpointChanged{Endpoint: &api.Endpoint{ID: r.ID}}, nil
}

// changed is an endpoint as it is.
func (m *Notices) changed(ctx context.Context, account api.Account, id string) (*api.EndpointChanged, error) {
	l, err := m.Endpoints(ctx, &api.ListEndpoints{Account: account})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(l.Endpoints, func(p api.Endpoint) bool { return p.ID == id })
	if i < 0 {
		return &api.EndpointChanged{Refusal: &api.Refusal{Code: engine.CodeNotFound, Text: "There is no endpoint " + api.Quoted(id)}}, nil
	}
	return &api.EndpointChanged{Endpoint: &l.Endpoints[i]}, nil
}
