package engine

import (
	"context"

	"troupe/engine/lang"
)

// conditional is a loop that a condition ends.
type conditional struct {
	cond  lang.Condition
	max   int
	do    []Step
	until bool
}

func (c conditional) Keys(to map[string]bool) { c.cond.Keys(to) }

func (c conditional) condition() *lang.Condition { return &c.cond }

func (c conditional) lists() [][]Step { return [][]Step{c.do} }

const whileSchema = `{"type":"object","required":["condition","do"],"additionalProperties":false,"properties":{"condition":` + lang.ConditionRef + `,"max":{"type":"integer","minimum":1,"maximum":10000,"default":100},"do":{"$ref":"#/$defs/actions"}}}`

var _ = define(whileAction("while", "Runs a list of actions as long as a condition is true.",
	`{"while":{"condition":"#next","max":5,"do":[{"getText":"h1","options":{"push":"titles"}},{"click":"#next"}]}}`, ""))

var _ = define(whileAction("until", "Runs a list of actions until a condition is true, and not at all if it is true at the start.",
	`{"until":{"condition":"#end","max":20,"do":[{"scrollY":100000},{"waitForEvent":"networkidle"}]}}`, "/endless"))

func whileAction(name, doc, example, page string) Action[conditional] {
	return Action[conditional]{
		Name: name, Group: "Control flow",
		Doc: doc + " The condition is looked at before each iteration, once and without waiting. After `max` iterations (default: 100, at most 10000) the loop ends with a warning. " +
			"`break` and `continue` end the loop and the iteration.",
		Value: lang.Shape[conditional]{Words: "{condition, max, do}", Schema: whileSchema},
		Decode: func(d *decoder, n *lang.Node) conditional {
			c := conditional{max: DefaultIterations, until: name == "until"}
			s := d.step
			var do *lang.Node
			has := false
			ok := d.ReadObject(n, name,
				lang.Field("condition", func(f *lang.Node) { has = true; c.cond = lang.ConditionShape.Read(&d.Decoder, f) }),
				lang.Field("max", func(f *lang.Node) { c.max = iterationsShape.Read(&d.Decoder, f) }),
				lang.Field("do", func(f *lang.Node) { do = f }),
			)
			if !ok {
				return c
			}
			if !has {
				d.Fault(n, "want a condition")
			}
			c.do = d.readLoop(n, do, s)
			return c
		},
		Unbounded: true,
		Result:    loopResult,
		Example:   example, Page: page,
		Run: runWhile,
	}
}

// loopResult is the result of every loop, for the reference.
const loopResult = "the pushed values, as an object of arrays by key, or `{\"success\":true,\"iterations\":n}`"

func runWhile(ctx context.Context, r *Run, s *Step, v conditional) (Result, error) {
	defer r.blocks.enter(s)()
	l := &loopState{run: r, pushed: map[string][]Result{}}
	defer l.begin()()
	for ; ; l.i++ {
		r.path = s.Path
		if err := r.captures.arrive(ctx, s); err != nil { // the list may have begun to wait for one
			return l.interrupted(err)
		}
		is, err := decider{r, s}.decide(ctx, &v.cond)
		if err != nil {
			return l.interrupted(err)
		}
		if is.yes == v.until {
			return l.result(l.i)
		}
		if l.i == v.max {
			r.warn("the loop has ended after %d %s, but its condition had not: max is %d", v.max, Plural(v.max, "iteration", "iterations"), v.max)
			return l.result(l.i)
		}
		if over, err := l.turn(ctx, v.do); err != nil {
			return l.interrupted(err)
		} else if over {
			return l.result(l.i + 1)
		}
	}
}

// turn runs one iteration and reports whether it has ended the loop.
func (l *loopState) turn(ctx context.Context, do []Step) (over bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, err
	}
	if err := l.run.blocks.spend(1); err != nil {
		return true, err
	}
	switch _, err := l.run.list(ctx, do); {
	case leavesBy(err) == errBreak:
		return true, nil
	case leavesBy(err) == errContinue:
		return false, nil
	default:
		return false, err
	}
}

// interrupted keeps what a loop has pushed when it cannot go on.
func (l *loopState) interrupted(err error) (Result, error) {
	if len(l.pushed) > 0 && leavesBy(err) == nil {
		if pushed, err := l.result(l.i); err == nil {
			l.run.good = pushed
		} else {
			l.run.warn("what the loop has pushed is not in the result: %v", err)
		}
	}
	return nil, err
}
