package batch

import (
	"time"

	"troupe/actors/records"
	"troupe/engine"
)

// admitted says that a plan has let a batch go on lately: its task is not parsed for each of
// its turns.
type admitted struct {
	plan engine.Plan
	at   time.Time
}

func (m *Batches) newState(b records.StoredBatch) *state {
	s := &state{
		id: b.ID, account: b.Account, plan: b.Plan, b: b.Batch, rev: b.Revision, tasks: m.tasks, loaded: make(chan struct{}), live: map[int]*item{}, parts: map[int]int{}, failed: map[engine.Code]records.BatchFailed{},
		inFlight: map[uint64]bool{}, wake: make(chan struct{}, 1), done: make(chan struct{}), touched: time.Now(),
	}
	s.forgetTask()
	return s
}

// forgetTask keeps of the task of a batch that has ended only its sites. The mutex is held,
// or nobody else has the batch yet.
func (s *state) forgetTask() {
	if !s.b.Ended.IsZero() {
		s.bound()
		s.b.Task = nil
	}
}
