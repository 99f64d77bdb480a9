package batch

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

const (
	// maxAhead is how many items of a batch are in the queue, or run, at once: more
	// than all workers of a node, and few enough to be kept in memory.
	maxAhead = 256
	// partSize is how many items are given to the queue with one write.
	partSize = 64
	// again is how long after a failure something is tried again.
	again = time.Second
	// unfinished is how long a batch may wait for its next items before it is dropped.
	unfinished = 10 * time.Minute
)

// feed lets a batch go on, unless it does or has ended. The mutex is held.
func (m *Batches) feed(s *state) {
	untold := m.cfg.shared() && !s.b.Told
	if s.feeds || !s.b.Ended.IsZero() && !untold || m.ctx.Err() != nil {
		return
	}
	idle := make(chan struct{})
	s.feeds, s.idle = true, idle
	m.work.Go(func() {
		defer close(idle)
		for m.load(s) != nil {
			if !m.pause(s, again) {
				return
			}
		}
		for m.turn(s) {
		}
		for m.tell(s) != nil {
			if !m.pause(s, again) {
				return
			}
		}
	})
}

// pause waits, and reports whether the batch is still to go on.
func (m *Batches) pause(s *state, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-m.ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ctx.Err() == nil && m.all[s.id] == s
}

// protect makes an error of a panic: a fault in one batch is not to end the service.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f()
}

// turn does what there is to do for a batch, and then waits. It reports whether the
// batch goes on.
func (m *Batches) turn(s *state) bool {
	did := false
	err := protect(func() (err error) {
		did, err = m.next(s)
		return err
	})
	var held heldError
	if errors.As(err, &held) {
		m.mu.Lock()
		s.holdBack(engine.Code(held))
		m.mu.Unlock()
		return m.pause(s, again)
	}
	if errors.Is(err, persistence.ErrConflict) && m.ctx.Err() == nil {
		m.reload(s)
		return m.pause(s, again)
	}
	if err != nil && m.ctx.Err() == nil {
		m.cfg.Log.Error().Err(err).Str("batch", s.id).Msg("batch does not go on")
		return m.pause(s, again)
	}
	m.mu.Lock()
	lives := m.ctx.Err() == nil && m.all[s.id] == s
	if lives && !s.b.Ended.IsZero() {
		s.feeds, lives = false, false
	}
	m.mu.Unlock()
	if !lives || did {
		return lives
	}
	select {
	case <-s.wake:
	case <-m.ctx.Done():
		return false
	}
	return true
}

// heldError is the code that says why no more items begin now.
type heldError engine.Code

func (e heldError) Error() string { return "no more items begin: " + string(e) }

// next does one thing, or nothing.
func (m *Batches) next(s *state) (did bool, err error) {
	if err := m.dropParts(s); err != nil { // before anything is noted below: it is only in memory
		return false, err
	}
	m.mu.Lock()
	var add, cancel, check, drop []*item
	for _, it := range s.live {
		switch {
		case it.check:
			it.check = false // it may be set again while it is looked up
			check = append(check, it)
		case s.b.State == api.BatchRunning && !it.queued:
			add = append(add, it)
		case s.b.State == api.BatchCancelled && !it.queued:
			drop = append(drop, it)
		case s.b.State == api.BatchCancelled && !it.asked:
			cancel = append(cancel, it)
		}
	}
	slices.SortFunc(add, func(a, b *item) int { return a.Item - b.Item })
	running := s.b.State == api.BatchRunning
	more := running && !s.fed && len(s.live) <= maxAhead-partSize
	ended := len(s.live) == 0 && (s.fed && s.b.State == api.BatchRunning || s.b.State == api.BatchCancelled && s.b.Ended.IsZero())
	m.mu.Unlock()
	switch {
	case len(check) > 0:
		return true, m.settle(s, check)
	case len(drop) > 0:
		return true, m.drop(s, drop)
	case len(cancel) > 0:
		return true, m.cancel(s, cancel)
	case ended:
		return true, m.end(s)
	case !running:
		return false, nil
	}
	if err := m.follow(s); err != nil {
		return false, err
	}
	switch {
	case len(add) > 0:
		return true, m.add(s, add)
	case more:
		return true, m.part(s)
	}
	return false, nil
}

// follow finds out whether the plan that the account has now lets the batch go on. What it
// has in the queue under another plan comes back from there: see [Batches.Holds].
func (m *Batches) follow(s *state) error {
	m.mu.Lock()
	plan, due := s.plan, time.Since(s.looked) >= again
	m.mu.Unlock()
	if m.cfg.Account != nil && due {
		a, err := m.cfg.Account(m.ctx, s.account)
		switch {
		case errors.Is(err, persistence.ErrNotFound): // whoever removes it ends the batch
		case err != nil:
			return fmt.Errorf("find the account of a batch: %w", err)
		default:
			plan = a.Plan
		}
	}
	limits, ok := m.cfg.Limits()[plan]
	m.mu.Lock()
	asked := s.admitted
	m.mu.Unlock()
	if asked.limits != limits {
		err := m.withTask(s, func(task *engine.Task) error {
			_, lacking := limits.Admit(task)
			asked = admitted{limits, lacking == ""}
			return nil
		})
		if err != nil {
			return err
		}
	}
	no := !ok || !asked.yes || limits.QueueTasks <= 0
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.plan, s.admitted = plan, asked; due {
		s.looked = time.Now()
	}
	switch {
	case no:
		return heldError(engine.CodePlanRequired)
	case s.held == engine.CodePlanRequired:
		s.holdBack("")
	}
	return nil
}

// planOf is the plan of a batch's account, as it was last looked up.
func (m *Batches) planOf(s *state) engine.Plan {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.plan
}

// part writes down which items go to the queue next.
func (m *Batches) part(s *state) error {
	m.mu.Lock()
	at, revision, round, items := s.at, s.atRev, s.b.Round, s.b.Items
	m.mu.Unlock()
	limits := m.cfg.Limits()[m.planOf(s)]
	if err := m.cfg.Records.Plain.Full(s.account, persistence.Allowance{Bytes: limits.StorageBytes, Files: limits.StorageFiles}); err != nil {
		return heldError(api.RefusalFor(err).Code)
	}
	disk := m.cfg.Records.Batches()
	var list []int
	var earlier []*records.BatchEnd
	p := records.BatchPart{Number: at.Part, After: at}
	for ; p.After.Item < items && len(list) < partSize; p.After.Item++ {
		list = append(list, p.After.Item)
		earlier = append(earlier, nil)
	}
	if p.After.Round != round {
		p.After.Round, p.After.Again = round, 0
	}
	if len(list) == 0 && round > 0 && p.After.Again >= 0 {
		failed, next, err := disk.Failed(m.ctx, s.id, p.After.Again, partSize)
		if err != nil {
			return err
		}
		p.After.Again = next
		for _, n := range failed {
			e, err := disk.EndOf(m.ctx, s.id, n)
			if err != nil {
				return err
			}
			m.mu.Lock()
			lives := s.live[n] != nil
			m.mu.Unlock()
			if e != nil && e.Round < round && !lives {
				list, earlier = append(list, n), append(earlier, e)
			}
		}
	}
	fed := p.After.Item >= items && (round == 0 || p.After.Again < 0)
	var err error
	if len(list) == 0 {
		if revision, err = disk.PutAt(m.ctx, s.account, s.id, p.After, revision); err != nil {
			return err
		}
	} else {
		p.After.Part++
		err := m.withTask(s, func(task *engine.Task) error {
			for _, n := range list {
				x := m.cfg.Queue.Name(&api.Execute{Account: api.Account{ID: s.account, Plan: m.planOf(s)}, Task: task})
				p.Tasks = append(p.Tasks, records.BatchTask{Item: n, Round: round, Task: x.TaskID})
			}
			return nil
		})
		if err != nil {
			return err
		}
		if revision, err = disk.PutPart(m.ctx, s.account, s.id, p, revision); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, t := range p.Tasks {
		s.hold(&item{BatchTask: t, part: p.Number})
		s.parts[p.Number]++
		if earlier[i] != nil {
			s.uncount(earlier[i])
		}
	}
	s.at, s.atRev, s.fed = p.After, revision, fed && s.b.Round == round // failed items may be to be sent again since
	return nil
}

// add gives items to the queue.
func (m *Batches) add(s *state, items []*item) error {
	return m.withTask(s, func(task *engine.Task) error { return m.give(s, task, items) })
}

// give gives items to the queue with their task.
func (m *Batches) give(s *state, task *engine.Task, items []*item) error {
	return records.InParallel(items, func(it *item) error {
		of := &api.BatchRef{Batch: s.id, Item: it.Item, Round: it.Round}
		value, err := m.cfg.Records.Batches().ReadItem(m.ctx, s.id, it.Item)
		if err != nil {
			return err
		}
		if value == nil {
			return m.unreadable(s, it, of)
		}
		m.mu.Lock()
		it.back = false
		m.mu.Unlock()
		x, err := m.cfg.Queue.Add(m.ctx, &api.Execute{
			TaskID: it.Task, Account: api.Account{ID: s.account, Plan: m.planOf(s)}, Task: task.WithItem(value), Asked: time.Now(), Batch: of, OnDisk: it.onDisk,
		})
		if err == nil && x.Refusal != nil {
			err = heldError(x.Refusal.Code)
		}
		if err != nil {
			return fmt.Errorf("queue an item: %w", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		s.holdBack("")
		it.queued, it.onDisk = !it.back, false // it may have been given back already
		return nil
	})
}

// unreadable ends an item that cannot be read any more.
func (m *Batches) unreadable(s *state, it *item, of *api.BatchRef) error {
	order, done, err := m.Ending(m.ctx, of)
	if err != nil {
		return err
	}
	err = m.cfg.Records.Batches().End(m.ctx, *of, records.BatchEnd{
		Task: it.Task, Status: api.TaskFailed, Code: engine.CodeInternal, Ended: time.Now(), Round: it.Round, Order: order,
	})
	done(engine.CodeInternal, true, err)
	return err
}

// drop forgets items of a cancelled batch that have not begun. One that was to be played
// again stays as it had ended before.
func (m *Batches) drop(s *state, items []*item) error {
	return records.InParallel(items, func(it *item) (err error) {
		var before *records.BatchEnd
		if it.Round > 0 {
			if before, err = m.cfg.Records.Batches().EndOf(m.ctx, s.id, it.Item); err != nil {
				return err
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.live[it.Item] != it || it.queued {
			return nil
		}
		if s.drop(it); before != nil {
			s.count(it.Item, before.Code, before.Status == api.TaskFailed)
		}
		return nil
	})
}

// cancel ends the tasks of a cancelled batch.
func (m *Batches) cancel(s *state, items []*item) error {
	return records.InParallel(items, func(it *item) error {
		err := m.cfg.Queue.Cancel(m.ctx, &api.Cancel{TaskID: it.Task, Account: api.Account{ID: s.account, Plan: m.planOf(s)}, Cause: api.CauseAsked})
		if err == nil {
			m.mu.Lock()
			it.asked = true
			m.mu.Unlock()
		}
		return err
	})
}
