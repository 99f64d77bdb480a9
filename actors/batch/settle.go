package batch

import (
	"errors"
	"slices"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence"
)

// settle looks up what has become of items that the queue does not have any more.
func (m *Batches) settle(s *state, items []*item) error {
	return records.InParallel(items, func(it *item) error {
		m.mu.Lock()
		cancelled := s.b.State == api.BatchCancelled
		m.mu.Unlock()
		var orders []uint64
		found, err := m.cfg.Records.Batches().Settle(m.ctx, s.account, api.BatchRef{Batch: s.id, Item: it.Item, Round: it.Round}, it.Task, cancelled, func() uint64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			orders = append(orders, m.order(s))
			return orders[len(orders)-1]
		})
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, o := range orders {
			delete(s.inFlight, o)
		}
		switch {
		case err != nil:
			it.check = true
			return err
		case s.live[it.Item] != it: // it has ended meanwhile
		case found.End != nil:
			s.finish(it, found.End.Code, found.End.Status == api.TaskFailed)
		case found.Begun:
			it.run(found.Runs)
		case !found.Queued:
			it.queued = false
			it.run(false)
		}
		return nil
	})
}

// reload reads a batch anew that another node has changed, or this one without knowing that
// it has.
func (m *Batches) reload(s *state) {
	b, err := m.cfg.Records.Batches().Read(m.ctx, s.account, s.id)
	if err != nil && !errors.Is(err, persistence.ErrNotFound) {
		m.cfg.Log.Error().Err(err).Str("batch", s.id).Msg("batch not read")
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[s.id] != s {
		return
	}
	for _, it := range s.live {
		delete(m.tasks, it.Task)
	}
	if s.b.Ended.IsZero() { // whoever waits for its end looks again
		close(s.done)
	}
	s.signal()
	delete(m.all, s.id)
	if err == nil {
		now := m.newState(b)
		now.received, now.bytes = s.received, s.bytes
		m.all[s.id] = now
		if now.b.State != api.BatchReceiving {
			m.feed(now)
		}
	}
}

// dropParts removes the records of parts whose items have all ended.
func (m *Batches) dropParts(s *state) error {
	for {
		m.mu.Lock()
		if len(s.over) == 0 {
			m.mu.Unlock()
			return nil
		}
		number := s.over[0]
		m.mu.Unlock()
		if err := m.cfg.Records.Batches().DeletePart(m.ctx, s.id, number); err != nil {
			return err
		}
		m.mu.Lock()
		s.over = slices.DeleteFunc(s.over, func(n int) bool { return n == number })
		m.mu.Unlock()
	}
}
