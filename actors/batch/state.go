package batch

import (
	"time"

	"troupe/actors/records"
	"troupe/engine"
)

// admitted is whether limits have let the task of a batch run. They are compared, so that the
// task is parsed only where they have changed. None admit nothing.
type admitted struct {
	limits engine.Limits
	yes    bool
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
