package view

import (
	"slices"
	"sync"
	"time"

	"troupe/actors/api"
)

// cacheBytes bounds what is kept of ended tasks, in bytes.
const cacheBytes = 16 << 20

// StatusCache holds the status of asynchronous tasks, so that most polls need no
// actor.
//
// The status of a running task comes from its actor. The end of a task does not
// change until it is deleted, and stays in the cache while there is room.
type StatusCache struct {
	mu     sync.RWMutex
	shown  map[string]*entry // by task
	ended  []*entry          // remembered, the oldest first
	weight int               // of those
}

type entry struct {
	task, account string
	polled        *api.Polled
	until         time.Time // zero: as long as its actor lives
	weight        int
}

// Set stores the status of a task that has an actor.
func (b *StatusCache) Set(task, account string, p *api.Polled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(&entry{task: task, account: account, polled: p})
}

func (b *StatusCache) put(s *entry) {
	if b.shown == nil {
		b.shown = map[string]*entry{}
	}
	b.shown[s.task] = s
}

// Delete removes what the task's actor has set.
func (b *StatusCache) Delete(task string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shown, task)
}

// ForgetAccount removes all entries of an account.
func (b *StatusCache) ForgetAccount(account string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for task, s := range b.shown {
		if s.account == account {
			delete(b.shown, task)
		}
	}
	b.ended = slices.DeleteFunc(b.ended, func(s *entry) bool {
		if s.account == account {
			b.weight -= s.weight
		}
		return s.account == account
	})
}

// Remember stores how a task has ended until it is deleted, if there is room. What was read
// without the outcome says too little.
func (b *StatusCache) Remember(task, account string, p *api.Polled, until time.Time) {
	if p.Executed.Outcome == nil {
		return
	}
	s := &entry{task: task, account: account, polled: p, until: until, weight: 1024 + p.Executed.Outcome.Bytes()}
	if s.weight > cacheBytes/100 {
		b.Delete(task) // what its actor has set
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.shown[task]; old != nil && !old.until.IsZero() {
		return
	}
	b.put(s)
	b.ended, b.weight = append(b.ended, s), b.weight+s.weight
	for now := time.Now(); b.weight > cacheBytes || !now.Before(b.ended[0].until); {
		old := b.ended[0]
		b.ended, b.weight = b.ended[1:], b.weight-old.weight
		if b.shown[old.task] == old {
			delete(b.shown, old.task)
		}
		if len(b.ended) == 0 {
			break
		}
	}
}

// Get answers a poll. It returns nil where an actor must answer: the task is not
// in the cache, or the poll waits for its end.
func (b *StatusCache) Get(m *api.Poll) *api.Polled {
	b.mu.RLock()
	s := b.shown[m.TaskID]
	b.mu.RUnlock()
	switch {
	case s == nil, s.account != m.Account.ID,
		s.polled.Status == api.TaskPending && m.Wait > 0,
		!s.until.IsZero() && !time.Now().Before(s.until):
		return nil
	}
	return s.polled
}
