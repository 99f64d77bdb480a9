package batch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
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
	if b.Schedule != nil {
		status, code := runEnd(&b)
		if err := m.cfg.Records.Schedules().EndRun(m.ctx, b.Schedule, b.Ended, status, code); err != nil {
			return err
		}
	}
	var notices []records.Notice
	if !m.cfg.shared() {
		var err error
		if notices, err = m.cfg.Records.Notices().OfBatch(m.ctx, b); err != nil {
			return err
		}
	}
	b.Told = false
	if err := m.put(s, b); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	close(s.done)
	m.cfg.Records.Tell(notices)
	m.cfg.Log.Info().Str("batch", b.ID).Str("state", string(b.State)).Int("items", b.Items).Int("failed", s.failures()).Dur("took", b.Ended.Sub(b.Created)).Msg("batch ended")
	return nil
}

// tell writes the notices of a batch that has ended. Of several nodes, two may try to write
// its end, and the store takes one: so there they follow it.
func (m *Batches) tell(s *state) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	b := m.record(s)
	if !m.cfg.shared() || b.Ended.IsZero() || b.Told || m.ctx.Err() != nil {
		return nil
	}
	_, err := m.cfg.Records.Notices().OfBatch(m.ctx, b)
	if b.Told = true; err == nil {
		err = m.put(s, b)
	}
	switch {
	case errors.Is(err, persistence.ErrConflict):
		m.reload(s)
		return nil
	case err != nil && m.ctx.Err() == nil:
		m.cfg.Log.Error().Err(err).Str("batch", s.id).Msg("notices of a batch not written")
	}
	return err
}

// put writes the record of a batch. The task of one that has ended is on the disk alone.
func (m *Batches) put(s *state, b records.Batch) error {
	m.mu.Lock()
	over := s.rev
	m.mu.Unlock()
	if b.Task == nil {
		was, err := m.cfg.Records.Batches().Read(m.ctx, b.Account, b.ID)
		switch {
		case errors.Is(err, persistence.ErrNotFound):
			return fmt.Errorf("write the batch %s: %w", b.ID, persistence.ErrConflict) // it is being removed
		case err != nil:
			return fmt.Errorf("read the task of the batch %s: %w", b.ID, err)
		}
		b.Task = was.Task
	}
	revision, err := m.cfg.Records.Batches().Put(m.ctx, b, over)
	if err != nil {
		return fmt.Errorf("write the batch %s: %w", b.ID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.b, s.rev = b, revision
	s.forgetTask()
	return nil
}

// runEnd is how a run of a schedule has ended that is a batch.
func runEnd(b *records.Batch) (api.RunStatus, engine.Code) {
	if b.State == api.BatchCancelled {
		return api.RunFailed, engine.CodeCancelled
	}
	status, code, most := api.RunComplete, engine.Code(""), 0
	for c, f := range b.Sum.Failed {
		if f.Count > most || f.Count == most && c < code {
			status, code, most = api.RunFailed, c, f.Count
		}
	}
	return status, code
}

// sweep removes batches whose time is over, and those whose items never all came.
func (m *Batches) sweep() {
	const every = time.Minute
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		m.mu.Lock()
		var old []*state
		for _, s := range m.all {
			switch idle := time.Since(s.touched) >= unfinished; {
			case s.b.State == api.BatchReceiving && idle:
			case !s.b.Ended.IsZero() && !time.Now().Before(s.b.Expires()):
			default:
				continue
			}
			old = append(old, s)
		}
		m.mu.Unlock()
		for _, s := range old {
			if err := m.expire(s); err != nil && !errors.Is(err, context.Canceled) {
				m.cfg.Log.Error().Err(err).Str("batch", s.id).Msg("batch not removed")
			}
		}
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// expire removes a batch whose time is over. Another node may have let it go on: so it is
// first made one that no client sees.
func (m *Batches) expire(s *state) error {
	b := m.record(s)
	if m.cfg.shared() && b.State != api.BatchReceiving {
		s.changes.Lock()
		defer s.changes.Unlock()
		b.State = api.BatchReceiving
		if err := m.put(s, b); errors.Is(err, persistence.ErrConflict) {
			m.reload(s)
			return nil
		} else if err != nil {
			return err
		}
	}
	return m.erase(m.ctx, b)
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
