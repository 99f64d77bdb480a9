package batch

import (
	"maps"

	"troupe/actors/api"
	"troupe/actors/records"
)

// load counts what has ended, and finds out what the queue has.
func (m *Batches) load(s *state) error {
	if s.isLoaded() {
		return nil
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	if s.isLoaded() {
		return nil
	}
	err := protect(func() error { return m.read(s) })
	if err != nil {
		m.cfg.Log.Error().Err(err).Str("batch", s.id).Msg("batch not read")
	}
	return err
}

// isLoaded reports whether it is known what has ended. A batch without all its items
// has nothing to know.
func (s *state) isLoaded() bool {
	select {
	case <-s.loaded:
		return true
	default:
		return false
	}
}

// record is a copy of the record of a batch.
func (m *Batches) record(s *state) records.Batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.b
}

func (m *Batches) read(s *state) error {
	b := m.record(s)
	if sum := b.Sum; sum != nil && !b.Ended.IsZero() { // nothing of it changes
		m.mu.Lock()
		defer m.mu.Unlock()
		s.ended, s.failed, s.fed = sum.Ended, maps.Clone(sum.Failed), true
		close(s.loaded)
		return nil
	}
	disk := m.cfg.Records.Batches()
	parts, at, revision, err := disk.Parts(m.ctx, s.id)
	if err != nil {
		return err
	}
	last, err := disk.LastOrder(m.ctx, s.id) // its ends may have got their places from other nodes
	if err != nil {
		return err
	}
	m.mu.Lock()
	s.last = max(s.last, last)
	m.mu.Unlock()
	order := func() uint64 { // nothing is listed yet
		m.mu.Lock()
		defer m.mu.Unlock()
		s.last = max(m.cfg.Order(), s.last+1)
		return s.last
	}
	live, counts, over := map[int]*item{}, map[int]int{}, []int{}
	earlier := []*records.BatchEnd{}
	for _, p := range parts {
		for _, t := range p.Tasks {
			of := api.BatchRef{Batch: s.id, Item: t.Item, Round: t.Round}
			found, err := disk.Settle(m.ctx, s.account, of, t.Task, b.State == api.BatchCancelled, order)
			if err != nil {
				return err
			}
			if found.End != nil {
				continue
			}
			e, err := disk.EndOf(m.ctx, s.id, t.Item)
			if err != nil {
				return err
			}
			if e != nil { // of an earlier round
				earlier = append(earlier, e)
			}
			// Whoever had the batch before may have written a record so late that the
			// queue has not found it: so the item is added again, or cancelled by its record.
			// What has become of it before it is known here, nobody tells: so it is looked
			// up again.
			has := found.Begun || found.Queued && b.State == api.BatchCancelled
			live[t.Item] = &item{BatchTask: t, part: p.Number, queued: has, onDisk: found.Queued && !has, runs: found.Runs, check: has}
			counts[p.Number]++
		}
		if counts[p.Number] == 0 {
			over = append(over, p.Number)
		}
	}
	sum, err := disk.Sum(m.ctx, s.id, b.Round > 0)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.at, s.atRev, s.parts, s.over, s.ended, s.failed = at, revision, counts, over, sum.Ended, sum.Failed
	for _, it := range live {
		if s.hold(it); it.runs {
			s.running++
		}
	}
	for n, c := range counts {
		if c == 0 {
			delete(counts, n)
		}
	}
	for _, e := range earlier {
		s.uncount(e)
	}
	for _, n := range s.early {
		if it := s.live[n]; it != nil {
			it.queued = false
		}
	}
	s.early = nil
	close(s.loaded)
	return nil
}
