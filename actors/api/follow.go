package api

import (
	"time"

	"troupe/engine"
)

// Follow asks for the steps of an asynchronous task that ended after step number
// After. With a Wait the answer comes when there is one, when the task has ended,
// or when the wait is over. Clients that ask again with the last number they have
// miss no step.
type Follow struct {
	TaskID  string        `json:"TaskID"`
	Account Account       `json:"Account"`
	After   int           `json:"After"` // 0: from the first
	Wait    time.Duration `json:"Wait"`
}

// Followed answers [Follow]. Steps are kept for a short time after the task's
// end, and not without limit: a gap in the numbers is what was dropped.
type Followed struct {
	Status  TaskStatus `json:"Status"`
	Refusal *Refusal   `json:"Refusal"`
	Node    string     `json:"Node"` // as in [Polled]
	Steps   []TaskStep `json:"Steps"`
}

// TaskStep is a step of a task with its number, counted from 1.
type TaskStep struct {
	Seq  int               `json:"Seq"`
	Step engine.StepReport `json:"Step"`
}

func (*Follow) reply(*Followed) {}

var _ = define(definition[Follow, Followed]{
	number: 6, reply: 7,
	takes:  func(m *Follow) time.Duration { return min(m.Wait, maxWait) },
	failed: func(_ *Follow, no *Refusal) *Followed { return &Followed{Refusal: no} },
	task: &taskDefinition[Follow, Followed]{
		id:     func(m *Follow) string { return m.TaskID },
		found:  func(f *Followed) bool { return !f.Refusal.NotFound() },
		at:     func(f *Followed) string { return f.Node },
		record: func(m *Follow) *Poll { return &Poll{TaskID: m.TaskID, Account: m.Account, Bare: true} },
		lost:   func(p *Polled) *Followed { return &Followed{Status: p.Status, Refusal: p.Refusal} },
	},
})

func (f *Followed) Refused() *Refusal { return f.Refusal }
