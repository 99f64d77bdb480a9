package notice

import (
	"container/heap"
	"context"
	"errors"
	"strings"
	"time"

	"troupe/actors/records"
	"troupe/persistence"
)

// Of several nodes that share the records, one delivers. Each answers questions about
// notices, and changes them, by the records alone. The one that delivers follows these.

// count is how many notices of an account wait, as it was at a time.
type count struct {
	waiting int
	at      time.Time
}

// countFor is how long a count is used.
const countFor = 2 * time.Second

// waiting counts the notices of an account that wait.
func (m *Notices) waiting(account string) int {
	m.mu.Lock()
	c := m.counts[account]
	m.mu.Unlock()
	if time.Since(c.at) < countFor {
		return c.waiting
	}
	list, err := m.cfg.Records.Store.Keys(m.ctx, records.NoticePrefix+account+"/", "", MaxWaiting)
	if err != nil { // without a majority no task begins that has receivers
		return c.waiting
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	const most = 4096 // accounts in memory
	if m.counts == nil || len(m.counts) >= most {
		m.counts = map[string]count{}
	}
	m.counts[account] = count{len(list), time.Now()}
	return len(list)
}

// Full reports whether as many notices of an account wait as may, and its task would
// make more.
func (m *Notices) Full(ctx context.Context, id string, named bool) bool {
	return m != nil && m.full(id) && (named || m.hasEndpoints(ctx, id))
}

func (m *Notices) hasEndpoints(ctx context.Context, id string) bool {
	all, err := m.cfg.Records.Notices().Endpoints(ctx, id)
	return err != nil || len(all) > 0
}

func (m *Notices) full(id string) bool {
	if m.cfg.Shared {
		return m.waiting(id) >= MaxWaiting
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.accounts[id]
	return a != nil && len(a.entries) >= MaxWaiting
}

// states are the receivers of an account that fail. Do not change the result.
func (m *Notices) states(ctx context.Context, account string) (map[string]records.EndpointState, error) {
	if m.cfg.Shared {
		return m.cfg.Records.Notices().States(ctx, account)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]records.EndpointState{}
	if a := m.accounts[account]; a != nil {
		for id, s := range a.states {
			all[id] = s
		}
	}
	return all, nil
}

// follow delivers what is written, wherever it is, until the deliveries stop.
func (m *Notices) follow() {
	for m.ctx.Err() == nil {
		if err := m.followOnce(); err != nil && m.ctx.Err() == nil {
			m.cfg.Log.Warn().Err(err).Msg("notices not followed")
		}
		m.pause(time.Second)
	}
}

func (m *Notices) followOnce() error {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	notices, err := m.cfg.Records.Store.Watch(ctx, records.NoticePrefix)
	if err != nil {
		return err
	}
	states, err := m.cfg.Records.Store.Watch(ctx, records.EndpointStatePrefix)
	if err != nil {
		return err
	}
	m.mu.Lock()
	for _, a := range m.accounts {
		clear(a.states)
	}
	m.mu.Unlock()
	if err := m.readStates(ctx); err != nil {
		return err
	}
	m.load()
	for { // a channel is closed where changes are missing: everything is read again then
		var e persistence.Event
		var ok bool
		select {
		case e, ok = <-notices:
		case e, ok = <-states:
		}
		if !ok {
			return nil
		}
		if strings.HasPrefix(e.Key, records.EndpointStatePrefix) {
			err = m.stateChanged(ctx, e)
		} else {
			err = m.noticeChanged(ctx, e)
		}
		if err != nil {
			return err
		}
	}
}

// stateChanged takes in that a receiver fails, or was switched on.
func (m *Notices) stateChanged(ctx context.Context, e persistence.Event) error {
	account, id, _ := strings.Cut(strings.TrimPrefix(e.Key, records.EndpointStatePrefix), "/")
	s, err := m.cfg.Records.Notices().State(ctx, account, id)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.of(account).states[id] = s
	case errors.Is(err, persistence.ErrNotFound):
		m.forgetState(account, id)
	case !errors.Is(err, persistence.ErrSealed):
		return err
	}
	return nil
}

// noticeChanged takes in a notice that is to be delivered, or at another time than before.
func (m *Notices) noticeChanged(ctx context.Context, e persistence.Event) error {
	account, id, _ := strings.Cut(strings.TrimPrefix(e.Key, records.NoticePrefix), "/")
	m.mu.Lock()
	var was *entry
	if a := m.accounts[account]; a != nil {
		was = a.entries[id]
	}
	sends := was != nil && was.sends // this node writes what becomes of it
	m.mu.Unlock()
	if sends || e.Deleted { // a notice that is gone is found out at its turn
		return nil
	}
	n, err := m.cfg.Records.Notices().Read(ctx, e.Key)
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrSealed) {
		return nil
	} else if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.of(account) // it may have been dropped since
	switch was = a.entries[id]; {
	case was == nil:
		m.push(a, &entry{id: id, host: hostOf(n.URL), since: n.Since, at: due(n), due: m.dueAt(n), index: -1})
	case was.index >= 0 && !was.at.Equal(due(n)):
		if l := a.lines[was.host]; l != nil {
			was.at, was.due = due(n), m.dueAt(n)
			heap.Fix(&l.wait, was.index)
			m.pump(l)
		}
	}
	return nil
}
