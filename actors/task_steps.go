package actors

import (
	"bytes"

	"troupe/actors/api"
	"troupe/engine"
)

// How much is kept of a task's steps for those who follow it late.
const (
	maxSteps     = 1000
	maxStepBytes = 256 << 10
	// A result that is larger is left out: the poll has it.
	maxStepResult = 16 << 10
)

// stepLog keeps the last steps of a task, with their numbers.
type stepLog struct {
	steps []api.TaskStep
	bytes int
	last  int
}

// forFollowers is a step without a result that is too large for them. It is left
// out before the step waits in any queue, and of one that is kept, nothing that it
// was a part of is kept with it.
func forFollowers(s engine.StepReport) engine.StepReport {
	if n := len(s.Result); n > maxStepResult {
		s.Result, s.ResultBytes = nil, n
	} else if cap(s.Result) > 2*n {
		s.Result = bytes.Clone(s.Result)
	}
	return s
}

func (l *stepLog) add(s engine.StepReport) {
	s = forFollowers(s)
	l.last++
	l.steps = append(l.steps, api.TaskStep{Seq: l.last, Step: s})
	l.bytes += s.Bytes()
	for len(l.steps) > maxSteps || l.bytes > maxStepBytes && len(l.steps) > 1 {
		l.bytes -= l.steps[0].Step.Bytes()
		l.steps = l.steps[1:]
	}
}

// after returns what is kept of the steps behind a number.
func (l *stepLog) after(seq int) []api.TaskStep {
	missing := l.last - max(seq, 0)
	if missing <= 0 {
		return nil
	}
	from := max(len(l.steps)-missing, 0)
	return append([]api.TaskStep(nil), l.steps[from:]...)
}
