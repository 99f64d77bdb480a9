package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
	"troupe/engine/mask"
)

// grace is how much longer we wait than the page does: the page knows better
// why something was not found.
const grace = 750 * time.Millisecond

// Run is one run of a task. It alone handles times, save, push, frames,
// continueOnError and the trace; actions know nothing of them.
type Run struct {
	task   *Task
	env    TaskEnv
	tabs   *browser.Context
	cache  *Cache
	engine *Chromium
	egress Fetcher // nil: uploads by URL are refused

	page       pageCalls
	batches    batches
	captures   captures
	effects    sideEffects
	pageLog    pageLog
	refs       *references
	used       *usedSecrets
	blocks     blocks
	pointer    pointer
	navigation navigation
	sites      siteBounds
	scopes     scopes
	files      fileKeeper
	evidence   *evidence        // nil unless failures are to leave some
	film       *recording       // nil without a full trace
	archive    *browser.Archive // nil without a HAR
	reports    reports
	last       Result // of the last top-level action that is no waitForResponse
	returned   Result // what return makes the data of the task, or of the flow that runs; nil: none has
	good       Result // of the last such action that did not fail, or what a loop that was cut off had pushed

	deadline time.Time     // of the step that runs
	limit    time.Duration // the time that it was given
	path     string
	typings  int                        // how many texts were typed, each of which has its number
	rest     []Step                     // what follows the step that runs, in its list
	failed   Code                       // of the action that failed last
	lasting  map[string]DurableSelector // for the references of the step that runs
	copied   map[int]string             // files of the request that the browser has
	crashed  bool
	done     int // steps that ended
	mask     *mask.Masker
	patience time.Duration // added to grace, and to the time of a profile
	began    time.Time
}

// newRun makes the run of a task in a browser context.
func newRun(t *Task, st TaskEnv, tabs *browser.Context, cache *Cache) *Run {
	r := &Run{task: t, tabs: tabs, cache: cache, scopes: scopes{now: &scope{}}, last: success, good: null, refs: new(references), used: new(usedSecrets), mask: maskerOf(st.Secrets), began: time.Now()}
	r.env = masked(r.mask, st)
	r.env.SaveFile = bounded(r.env.SaveFile)
	r.page.run, r.batches.run, r.captures.run, r.effects.run, r.pageLog.run = r, r, r, r, r
	r.scopes.run, r.blocks.run, r.pointer.run, r.navigation.run, r.files.run = r, r, r, r, r
	return r
}

// errStopped says that an action inside failed and the list was to stop there.
var errStopped = errors.New("a nested action stopped the list")

// play runs the top-level list and reports whether it was stopped.
func (r *Run) play(ctx context.Context) (stopped bool) {
	for i := 0; i < len(r.task.Steps); {
		if ctx.Err() != nil {
			return false
		}
		n := r.batches.leadingReads(r.task.Steps[i:])
		if r.batches.worthwhile(n) {
			last, err := r.batches.play(ctx, r.task.Steps[i:i+n])
			r.last = last
			if err != nil {
				return leavesBy(err) == nil
			}
			i += n
			continue
		}
		s := &r.task.Steps[i]
		r.rest = r.task.Steps[i+1:]
		res, err := r.step(ctx, s)
		if s.def.name != "waitForResponse" {
			r.last = res
		}
		if err != nil {
			return leavesBy(err) == nil
		}
		i++
	}
	return false
}

// list runs a nested list and returns its last result.
func (r *Run) list(ctx context.Context, steps []Step) (Result, error) {
	res := success
	for i := 0; i < len(steps); {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		var err error
		n := r.batches.leadingReads(steps[i:])
		if err := r.blocks.spend(max(n, 1)); err != nil {
			return res, err
		}
		if r.batches.worthwhile(n) {
			res, err = r.batches.play(ctx, steps[i:i+n])
		} else {
			n, r.rest = 1, steps[i+1:]
			res, err = r.step(ctx, &steps[i])
		}
		if err != nil {
			return res, err
		}
		i += n
	}
	return res, nil
}

// null is the result of an action that failed.
var null = Result("null")

// step runs one action within its time. Its error is errStopped when the list
// must not go on; the failure itself is in r.reports.
func (r *Run) step(ctx context.Context, s *Step) (Result, error) {
	n := r.film.begins(ctx, s)
	res, err := r.timedStep(ctx, s)
	r.film.ends(ctx, n)
	return res, err
}

func (r *Run) timedStep(ctx context.Context, s *Step) (Result, error) {
	began := time.Now()
	r.path, r.batches.answered, r.page.told = s.Path, nil, nil
	if err := r.captures.arrive(ctx, s); err != nil {
		return r.ended(ctx, s, began, nil, err)
	}
	sctx := ctx
	if !s.def.unbounded && !s.def.instant {
		var cancel context.CancelFunc
		sctx, cancel = r.bound(ctx, s)
		defer cancel()
	}
	r.lasting = r.durable(sctx, s)
	res, err := r.act(sctx, s)
	return r.ended(ctx, s, began, res, err)
}

// bound starts the step's time.
func (r *Run) bound(ctx context.Context, s *Step) (context.Context, context.CancelFunc) {
	r.timed(s)
	return context.WithDeadline(ctx, r.deadline.Add(grace+r.patience))
}

func (r *Run) timed(s *Step) {
	r.limit = r.timeOf(s)
	r.deadline = time.Now().Add(r.limit)
}

// timeOf is how long the step may take.
func (r *Run) timeOf(s *Step) time.Duration {
	if s.Options.Timeout > 0 {
		return s.Options.Timeout
	}
	return r.task.Config.ActionTimeout
}

// act does the step's work. A panic is this action's failure and nothing more.
func (r *Run) act(ctx context.Context, s *Step) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, Problemf(CodeInternal, "%s failed unexpectedly: %v", s.def.name, p)
		}
	}()
	defer r.blocks.allowing(s)()
	if s.def.run != nil {
		return s.def.run(ctx, r, s)
	}
	call, err := s.def.read(r, s)
	if err != nil {
		return nil, err
	}
	return r.page.call(ctx, s, call)
}

// ended records how a step ended: its result in the caches, its failure, its
// line in the trace.
func (r *Run) ended(ctx context.Context, s *Step, began time.Time, res Result, err error) (Result, error) {
	if res == nil {
		res = success
	}
	res = r.mask.JSON(res) // before it is kept: what is in the cache can be typed anywhere
	var stop error
	if by := leavesBy(err); by != nil { // the action did what it should
		err, stop = nil, by
	}
	if err == nil && s.def.name != "waitForResponse" && (stop == nil || s.lists() == nil) { // a block that is left has no result to keep
		err = r.keep(s, res)
	}
	report := StepReport{Path: s.Path, Flow: r.scopes.now.flow, Action: s.def.name, Success: err == nil, Millis: float64(time.Since(began).Microseconds()) / 1000, Iteration: r.blocks.iteration(), Iterations: r.blocks.iterations(), Selectors: r.lasting}
	r.lasting = nil
	kept := r.effects.collect(ctx)
	if r.traced() {
		report.Notes = append(r.notes(), kept...)
	}
	if err != nil {
		res = null
		if ctx.Err() != nil && !isStop(err) {
			// The whole task is over: that is no failure of this action.
			report.Error = "cut off by the end of the task"
			if code := ending(ctx); code != "" && !r.told(code) {
				r.path = s.Path
				r.wasEnded(ctx, s.raw)
				report.Error, report.Code = r.reports.latest().Text, code
			}
			r.report(report)
			return res, ctx.Err()
		}
		if isStop(err) {
			if stop = r.stopAfter(s, err); stop == nil { // nobody further out is to know
				r.blocks.uncaught(ctx)
			}
		} else {
			p := r.problem(s, err)
			p = &Problem{Code: p.Code, Text: r.mask.Text(p.Text).Short(maxErrorText).String()}
			report.Error, report.Code = p.Text, p.Code
			stop = r.stopAfter(s, err)
			r.fails(ctx, s, p, stop)
		}
	} else {
		report.Result = res
		if s.top() && s.def.name != "waitForResponse" {
			r.good = res
		}
	}
	r.report(report)
	return res, stop
}

// stopAfter is how the list ends after the step that failed, or nil if it goes on.
func (r *Run) stopAfter(s *Step, err error) error {
	switch {
	case errors.Is(err, errMust) && !r.blocks.spent:
		return errMust
	case r.blocks.spent, errors.Is(err, errEnds), s.def.ends && !isStop(err) && !r.continues(s):
		return errEnds
	case s.mustNotFail() && !r.crashed:
		return errMust
	case r.crashed, !r.continues(s):
		return errStopped
	}
	return nil
}

// fails records the failure of a step, or lets a block around it catch it.
func (r *Run) fails(ctx context.Context, s *Step, p *Problem, stop error) {
	r.failed = p.Code
	f := Failure{Code: p.Code, Text: p.Text, Index: s.Index, Path: s.Path, Flow: r.scopes.now.flow, Iteration: r.blocks.iteration(), Iterations: r.blocks.iterations(), Action: s.raw, Tolerated: r.blocks.tolerates(s)}
	if stop != nil && r.blocks.guards > 0 && !r.crashed && !r.blocks.spent {
		r.blocks.caught = &f
		return
	}
	r.reports.failed(f, stop != nil)
	r.evidence.fails(ctx, f.Path, stop != nil)
}

// traced reports whether somebody wants a report of each step.
func (r *Run) traced() bool { return r.env.OnStep != nil || r.task.Config.Trace }

func (r *Run) report(s StepReport) {
	r.done++
	if r.task.Config.Trace {
		r.reports.step(s)
	}
	r.film.reported(s)
	if r.env.OnStep != nil {
		r.env.OnStep(s)
	}
	if r.env.Measure != nil {
		r.env.Measure(s)
	}
}

func (r *Run) continues(s *Step) bool {
	if s.Options.ContinueOnError != nil {
		return *s.Options.ContinueOnError
	}
	return r.task.Config.ContinueOnError && r.blocks.guards == 0 && !s.def.ends
}

var errCacheFull = Problemf(CodeInvalidValue, "the data cache holds at most %d bytes", maxSaved)

// keep carries out save and push. Actions that find an element have kept the
// element itself.
func (r *Run) keep(s *Step, res Result) error {
	if len(res) > MaxResult {
		return Problemf(CodeInvalidValue, "the result of %s has %d bytes, and %d are the limit", s.def.name, len(res), MaxResult)
	}
	if s.Options.Save != "" && s.def.finds {
		r.page.keeps(s)
	}
	if s.Options.Save != "" && !s.def.finds && !r.cache.Set(s.Options.Save, res) {
		return errCacheFull
	}
	if s.Options.Push != "" {
		if !r.cache.Push(s.Options.Push, res) {
			return errCacheFull
		}
		if r.blocks.loop != r.scopes.now.loop {
			r.blocks.loop.push(s.Options.Push, res)
		}
	}
	return nil
}

// problem turns any error of an action into one with a code and a sentence.
func (r *Run) problem(s *Step, err error) *Problem {
	var p *Problem
	var value *lang.ValueError
	var script *browser.ScriptError
	var foreign *browser.ForeignFrame
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &value):
		return Problemf(CodeInvalidValue, "%s", value)
	case errors.As(err, &script):
		return Problemf(CodeScriptError, "%s", script.Text)
	case errors.As(err, &foreign):
		return Problemf(CodeSiteNotAllowed, "The iframe shows %s, which is not one of the task's sites: %s", foreign.Address, r.siteLists())
	case errors.Is(err, browser.ErrLargeAnswer):
		return Problemf(CodeInvalidValue, "the result of %s has more than %d bytes, which are the limit", s.def.name, MaxResult)
	case errors.Is(err, browser.ErrGone):
		r.crashed = true
		return Problemf(CodeBrowserCrashed, "The browser crashed while %s ran", s.def.name)
	case errors.Is(err, browser.ErrFrameLost):
		return Problemf(CodeElementGone, "The iframe was replaced again and again while %s ran, or its process has crashed", s.def.name)
	case errors.Is(err, browser.ErrDetached):
		if r.tabs.Crashed() {
			r.crashed = true
			return Problemf(CodeBrowserCrashed, "The page crashed while %s ran", s.def.name)
		}
		return Problemf(CodeElementGone, "the tab was closed while %s ran", s.def.name)
	case errors.Is(err, context.DeadlineExceeded):
		return Problemf(CodeTimeout, "%s did not end within %dms: the page does not answer", s.def.name, Millis(r.limit))
	default:
		return Problemf(CodeInternal, "%s failed: %s", s.def.name, ErrorText(err))
	}
}

func (r *Run) warn(format string, args ...any) {
	r.reports.warn(Warning{Path: r.path, Message: r.mask.Text(fmt.Sprintf(format, args...)).String()})
}
