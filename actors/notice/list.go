package notice

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/clock"
)

func shown(n records.Notice) api.Notice {
	return api.Notice{ID: n.ID, URL: n.URL, Event: n.Event, About: about(n), At: n.At, Status: n.Status, Attempts: n.Attempts, Tries: n.Tries, Next: n.Next, Ended: n.Ended}
}

// List lists a part of an account's notices.
func (m *Notices) List(ctx context.Context, r *api.ListNotices) (*api.NoticesListed, error) {
	prefix := records.NoticeLogPrefix
	if r.Waiting {
		prefix = records.NoticePrefix
	}
	prefix += r.Account.ID + "/"
	after := ""
	if r.After != "" {
		after = prefix + r.After
	}
	list, lost, next, err := m.cfg.Records.Notices().List(ctx, prefix, after, r.Most)
	if err != nil {
		return nil, err
	}
	l := &api.NoticesListed{Next: strings.TrimPrefix(next, prefix), Unreadable: lost}
	for _, n := range list {
		l.Notices = append(l.Notices, shown(n))
	}
	return l, nil
}

func noNotice(id string) *api.Noticed {
	return &api.Noticed{Refusal: &api.Refusal{Code: engine.CodeNotFound, Text: "There is no notice " + api.Quoted(id)}}
}

// Get tells what became of a notice.
func (m *Notices) Get(ctx context.Context, r *api.GetNotice) (*api.Noticed, error) {
	n, err := m.cfg.Records.Notices().Find(ctx, r.Account.ID, r.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return noNotice(r.ID), nil
	case err != nil:
		return nil, fmt.Errorf("read a notice: %w", err)
	}
	s := shown(n)
	return &api.Noticed{Notice: &s}, nil
}

// Redeliver sends a notice now: one that waits goes first, any other is sent once more.
func (m *Notices) Redeliver(ctx context.Context, r *api.Redeliver) (*api.Noticed, error) {
	n, err := m.cfg.Records.Notices().Find(ctx, r.Account.ID, r.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return noNotice(r.ID), nil
	case err != nil:
		return nil, fmt.Errorf("read a notice: %w", err)
	}
	states, err := m.states(ctx, r.Account.ID)
	if err != nil {
		return nil, fmt.Errorf("read an endpoint: %w", err)
	}
	if !states[records.EndpointID(n.URL)].Off.IsZero() {
		return &api.Noticed{Refusal: &api.Refusal{Code: engine.CodeInvalidRequest,
			Text: "Its endpoint is switched off: switch it on with POST /v1/endpoints/" + records.EndpointID(n.URL) + "/enable"}}, nil
	}
	if n.Status != api.NoticeWaiting {
		n.Status, n.Round, n.Since, n.Next, n.Ended = api.NoticeWaiting, 0, time.Now(), time.Now(), time.Time{}
		if err := m.cfg.Records.Notices().Again(ctx, n); err != nil {
			return nil, fmt.Errorf("send a notice again: %w", err)
		}
	} else if m.cfg.Shared {
		n.Next = time.Now()
		if err := m.cfg.Records.Notices().Retry(ctx, n); err != nil {
			return nil, fmt.Errorf("send a notice again: %w", err)
		}
	}
	s := shown(n)
	if m.cfg.Shared { // the node that delivers follows the records
		return &api.Noticed{Notice: &s}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.of(r.Account.ID)
	if e := a.entries[n.ID]; e == nil {
		m.push(a, &entry{id: n.ID, host: hostOf(n.URL), since: n.Since, at: time.Now(), index: -1})
	} else if l := a.lines[e.host]; l != nil && e.index >= 0 {
		e.at, e.due = time.Now(), clock.Due{}
		heap.Fix(&l.wait, e.index)
		m.pump(l)
	}
	return &api.Noticed{Notice: &s}, nil
}

// due is when the next attempt of a notice is.
func due(n records.Notice) time.Time {
	if n.Next.IsZero() {
		return n.Since
	}
	return n.Next
}
