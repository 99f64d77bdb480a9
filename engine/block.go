package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"troupe/engine/lang"
)

// A block is an action that holds lists of actions. Lists end before their end by an
// error: errStopped after a failure, or one of these.
var (
	errBreak    = errors.New("break: the loop ends")
	errContinue = errors.New("continue: the iteration ends")
	errReturn   = errors.New("return: the task or the flow ends")
	// errEnds says that the failure before it ends the task, whatever
	// continueOnError says of the lists around it.
	errEnds = errors.New("the task ends after a failure")
	// errMust is errEnds after a step with continueOnError: false of its own. A retry that
	// may fail holds it.
	errMust = fmt.Errorf("a step must not fail: %w", errEnds)
)

// leavesBy gives the error by which a list is left without a failure, or nil.
func leavesBy(err error) error {
	for _, by := range []error{errBreak, errContinue, errReturn} {
		if errors.Is(err, by) {
			return by
		}
	}
	return nil
}

// isStop reports whether a list has ended because of a failure that is known.
func isStop(err error) bool { return errors.Is(err, errStopped) || errors.Is(err, errEnds) }

// Bounds of what the blocks of a task do together. Neither counts in a task without
// them: its own list, if and loop are bounded by their lengths.
const (
	maxWork   = 1_000_000 // actions and iterations
	maxEffort = 256 << 20 // bytes that conditions and set look at
)

// blocks are those that run, one in the other, and what all of a run have done so far.
type blocks struct {
	run    *Run
	loop   *loopState // the innermost one; nil: none
	depth  int        // how many run
	steps  int
	bytes  int
	spent  bool     // the task is over: it has done too much
	guards int      // how many of them catch failures
	caught *Failure // that has ended a list in one of those
	trials int      // how many of them are the lists do of try
	allow  int      // how many of them have continueOnError: true of their own
}

// spend counts actions and iterations in blocks.
func (b *blocks) spend(n int) error {
	if b.depth == 0 {
		return nil
	}
	if b.steps += n; b.steps > maxWork {
		b.spent = true
		return Problemf(CodeStepLimit, "The blocks of the task have run %d actions and iterations, which are the limit", maxWork)
	}
	return nil
}

// charge counts bytes that conditions in blocks, set and return look at.
func (b *blocks) charge(n int) error {
	if b.bytes += n; b.bytes > maxEffort {
		b.spent = true
		return Problemf(CodeStepLimit, "Conditions in blocks, set and return have looked at %d bytes of values, which are the limit of one task", maxEffort)
	}
	return nil
}

// enter begins a block. Its iframe is that of the actions in it which have none of
// their own.
func (b *blocks) enter(s *Step) (leave func()) {
	frame := b.run.page.frame
	if s.Options.Frame != nil {
		b.run.page.frame = s.Options.Frame
	}
	b.depth++
	return func() {
		b.depth--
		b.run.page.frame = frame
	}
}

// tolerates reports whether the task says of a step that it may fail: by the step's own
// continueOnError, by that of a block around it, or by a try. What config says is only how
// the list goes on.
func (b *blocks) tolerates(s *Step) bool {
	return s.mayFail() || b.allow > 0 && !s.mustNotFail() || b.trials > 0
}

func (s *Step) mustNotFail() bool {
	return s.Options.ContinueOnError != nil && !*s.Options.ContinueOnError
}

func (s *Step) mayFail() bool {
	return s.Options.ContinueOnError != nil && *s.Options.ContinueOnError
}

// allowing counts a step that may fail, while the lists in it run.
func (b *blocks) allowing(s *Step) (end func()) {
	if !s.mayFail() {
		return func() {}
	}
	b.allow++
	return func() { b.allow-- }
}

// guarded runs a list in which a failure ends the list. It gives that failure, with
// the error by which the list has ended.
func (b *blocks) guarded(run func() (Result, error)) (res Result, failed *Failure, err error) {
	b.guards++
	res, err = run()
	b.guards--
	if isStop(err) && !b.run.crashed && !b.spent {
		failed, b.caught = b.caught, nil
	}
	return res, failed, err
}

// uncaught makes a failure that ended a list one like any other, unless a block
// further out may catch it.
func (b *blocks) uncaught(ctx context.Context) {
	if f := b.caught; f != nil {
		b.caught = nil
		b.run.reports.failed(*f, true)
		b.run.evidence.fails(ctx, f.Path, true)
	}
}

// iteration is that of the innermost loop, nil outside of loops.
func (b *blocks) iteration() *int {
	if b.loop == nil {
		return nil
	}
	i := b.loop.i
	return &i
}

// iterations are those of the loops that run, outermost first, where one runs in
// another; nil otherwise.
func (b *blocks) iterations() (all []int) {
	if b.loop == nil || b.loop.outer == nil {
		return nil
	}
	for l := b.loop; l != nil; l = l.outer {
		all = append(all, l.i)
	}
	slices.Reverse(all)
	return all
}

// begin makes a loop the innermost one.
func (l *loopState) begin() (end func()) {
	b := &l.run.blocks
	l.outer, b.loop = b.loop, l
	return func() {
		b.loop = l.outer
		if l.outer != l.run.scopes.now.loop { // what was pushed in a loop was pushed in the one around it
			for key, list := range l.pushed {
				l.outer.pushed[key] = append(l.outer.pushed[key], list...)
			}
		}
	}
}

// elementLoop is the innermost loop over elements that runs: $this is its element. Loops
// around the flow that runs are not the flow's.
func (b *blocks) elementLoop() *loopState {
	for l := b.loop; l != b.run.scopes.now.loop; l = l.outer {
		if l.each != nil {
			return l
		}
	}
	return nil
}

// readDo reads the list of a block.
func (d *decoder) readDo(n, list *lang.Node, s *Step, name string) []Step {
	if list == nil {
		d.Fault(n, "want %s, an array of actions", name)
		return nil
	}
	d.blocks++
	defer func() { d.blocks-- }()
	return d.readSteps(list, s.Path+"/"+s.def.name+"/"+name+"/", s.Index)
}

// readLoop reads the list of a loop that break and continue can end.
func (d *decoder) readLoop(n, list *lang.Node, s *Step) []Step {
	was := d.leavable
	d.leavable = true
	defer func() { d.leavable = was }()
	return d.readDo(n, list, s, "do")
}
