package engine

import (
	"bytes"
	"context"
	"time"

	"troupe/engine/browser"
)

// Bounds of a full trace. Base64 makes three bytes of a picture four, so the
// file stays below 16 MiB.
const (
	maxRecordedSteps = 500
	maxStills        = 200
	maxStillBytes    = 8 << 20
	stillTime        = time.Second
	sameStill        = 50 * time.Millisecond // what was seen so shortly before is seen still
	maxBlind         = 3                     // pictures in a row that could not be taken: no more are tried
	arrivalOfStills  = 400 * time.Millisecond
)

// recording is what a full trace is made of: each step with the page before and
// after it. It is nil where nobody wants one.
type recording struct {
	run *Run

	steps []*recordedStep // in the order in which they began
	open  []*recordedStep // those that run: a loop, and a step in it
	left  int             // steps that did not fit

	stills [][]byte // JPEG
	bytes  int
	blind  int
	last   int // the still taken last; -1: none
	tab    *browser.Tab
	at     time.Time
}

// recordedStep is one step of a recording.
type recordedStep struct {
	step          *Step
	at            time.Duration // from the start of the task
	took          time.Duration
	before, after int         // stills; -1: none
	report        *StepReport // without its result
	result        string      // for people; empty where there is nothing to see
}

// begins records that a step begins.
func (v *recording) begins(ctx context.Context, s *Step) *recordedStep {
	if v == nil {
		return nil
	}
	n := &recordedStep{step: s, before: -1, after: -1}
	if len(v.steps) >= maxRecordedSteps {
		v.left++
	} else {
		if v.run.tabs.Used() { // a page that nobody has been on is blank
			n.before = v.still(ctx, false)
		}
		v.steps = append(v.steps, n)
	}
	v.open = append(v.open, n)
	n.at = time.Since(v.run.began)
	return n
}

// reported hears how the step that runs has ended.
func (v *recording) reported(s StepReport) {
	if v == nil || len(v.open) == 0 {
		return
	}
	n := v.open[len(v.open)-1]
	if len(v.steps) < maxRecordedSteps || v.steps[len(v.steps)-1] == n {
		if !bytes.Equal(s.Result, success) {
			n.result = brief(s.Result)
		}
	}
	s.Result = nil // it may be long, and there are many steps
	n.took, n.report = time.Since(v.run.began)-n.at, &s
}

// ends records that a step has ended. What only looked, and found at once, has
// left the page as it was.
func (v *recording) ends(ctx context.Context, n *recordedStep) {
	if v == nil {
		return
	}
	v.open = v.open[:len(v.open)-1]
	switch {
	case len(v.steps) >= maxRecordedSteps && v.steps[len(v.steps)-1] != n:
	case n.step.def.read != nil && n.took < sameStill && n.before >= 0:
		n.after = n.before
	default:
		n.after = v.still(ctx, true)
	}
}

// final is what was seen last of a task that was cut off.
func (v *recording) final(ctx context.Context) {
	if v != nil && len(v.steps) > 0 {
		if n := v.steps[len(v.steps)-1]; n.after < 0 {
			n.after = v.still(ctx, false)
		}
	}
}

// still takes a picture of the current tab and gives its number.
func (v *recording) still(ctx context.Context, acted bool) int {
	tab := v.run.tabs.Current()
	if tab == nil || v.run.crashed || v.blind >= maxBlind || len(v.stills) >= maxStills || v.bytes >= maxStillBytes {
		return -1
	}
	if !acted && v.last >= 0 && v.tab == tab && time.Since(v.at) < sameStill {
		return v.last
	}
	ctx, cancel := context.WithTimeout(ctx, stillTime+v.run.patience)
	defer cancel()
	if acted {
		v.awaitLanding(ctx, tab)
	}
	b, err := tab.Screenshot(ctx, browser.Picture{Format: "jpeg", Quality: 60})
	if err != nil {
		v.blind++
		return -1
	}
	v.blind, v.tab, v.at = 0, tab, time.Now()
	if v.last >= 0 && bytes.Equal(v.stills[v.last], b) {
		return v.last
	}
	v.stills, v.bytes, v.last = append(v.stills, b), v.bytes+len(b), len(v.stills)
	return v.last
}

// awaitLanding gives a page that was clicked or typed into a moment to go where that
// leads.
func (v *recording) awaitLanding(ctx context.Context, tab *browser.Tab) {
	if v.run.page.input == sentNothing && !v.run.page.script && !tab.Navigation.Loading() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, arrivalOfStills)
	defer cancel()
	input, script := v.run.page.input, v.run.page.script
	arg := map[string]any{"ms": Millis(arrivalOfStills) * 3 / 4}
	v.run.page.addSettle(arg)
	if _, err := tab.Script.Call(ctx, "load", arg); err != nil {
		v.run.page.input, v.run.page.script = input, script // the next step has to wait for it
	}
}
