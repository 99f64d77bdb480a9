package batch

import (
	"context"
	"errors"
	"maps"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
)

// end writes that a batch has ended.
func (m *Batches) end(s *state) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	m.mu.Lock()
	b := s.b
	if len(s.live) > 0 || b.State == api.BatchRunning && !s.fed { // it has changed since
		m.mu.Unlock()
		return nil
	}
	b.Ended, b.Sum = time.Now(), &records.BatchSum{Ended: s.ended, Failed: maps.Clone(s.failed)}
	m.mu.Unlock()
	if b.State == api.BatchRunning {
		b.State = api.BatchEnded
	}
	notices, err := m.cfg.Records.Notices().OfBatch(m.ctx, b)
	if err != nil {
		return err
	}
	if err := m.cfg.Records.Batches().Put(m.ctx, b); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.b = b
	close(s.done)
	m.cfg.Records.Tell(notices)
	m.cfg.Log.Info().Str("batch", b.ID).Str("state", string(b.State)).Int("items", b.Items).Int("failed", s.failures()).Dur("took", b.Ended.Sub(b.Created)).Msg("batch ended")
	return nil
}

// sweep removes batches whose time is over, and those whose items never all came.
func (m *Batches) sweep() {
	const every = time.Minute
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		m.mu.Lock()
		var old []records.Batch
		for _, s := range m.all {
			switch idle := time.Since(s.touched) >= unfinished; {
			case s.b.State == api.BatchReceiving && idle:
			case !s.b.Ended.IsZero() && !time.Now().Before(s.b.Expires()):
			default:
				continue
			}
			old = append(old, s.b)
		}
		m.mu.Unlock()
		for _, b := range old {
			if err := m.erase(m.ctx, b); err != nil && !errors.Is(err, context.Canceled) {
				m.cfg.Log.Error().Err(err).Str("batch", b.ID).Msg("batch not removed")
			}
		}
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Batches) erase(ctx context.Context, b records.Batch) error {
	m.mu.Lock()
	if s := m.all[b.ID]; s != nil {
		delete(m.all, b.ID)
		s.signal()
	}
	m.mu.Unlock()
	return m.cfg.Records.Batches().Erase(ctx, b.Account, b.ID)
}
