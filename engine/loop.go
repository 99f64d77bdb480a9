package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// DefaultIterations bounds a loop that does not say otherwise.
const DefaultIterations = 100

// maxIterations bounds maxIterations.
const maxIterations = 10000

type repetition struct {
	repeat int
	each   *lang.Selector
	do     []Step
	max    int          // zero: not said here
	limit  string       // how max is spelled
	frame  []lang.Frame // nil: not said here
}

func (l repetition) lists() [][]Step { return [][]Step{l.do} }

func (l repetition) Keys(to map[string]bool) {
	if l.each != nil {
		l.each.Keys(to)
	}
}

var iterationsShape = lang.IntShape("number of iterations", 1, maxIterations)

var _ = define(Action[repetition]{
	Name: "loop", Group: "Control flow",
	Doc: "Runs a list of actions several times: `repeat` times, or once for `each` element that matches, with `$this` as the element. `each` waits for the first match up to the action's time; without a match the loop has no iterations. " +
		"`each` takes the first `maxIterations` matches, with a warning of how many were left. If `$this` has left the page, the loop takes the element in the same place, as soon as the list is as long as at the start. It waits for that once, up to the action's time. " +
		"`maxIterations` and `iframe` may be in the value or in `options`.",
	Value: lang.Shape[repetition]{
		Words: "{repeat or each, do}", Schema: `{"type":"object","required":["do"],"additionalProperties":false,"properties":{"repeat":{"type":"integer","minimum":1,"maximum":10000},"each":` + lang.SelectorShape.Schema + `,"do":{"$ref":"#/$defs/actions"},"maxIterations":` + iterationsShape.Schema + `,"iframe":` + lang.FrameShape.Schema + `},"oneOf":[{"required":["repeat"]},{"required":["each"]}]}`,
	},
	Decode: func(d *decoder, n *lang.Node) (l repetition) {
		s, was := d.step, d.inLoop
		var repeat, do *lang.Node
		ok := d.ReadObject(n, "loop",
			lang.Field("repeat", func(f *lang.Node) {
				repeat = f
				l.repeat = lang.IntShape("number of iterations", 1, maxIterations).Read(&d.Decoder, f)
			}),
			lang.Field("each", func(f *lang.Node) { e := lang.SelectorShape.Read(&d.Decoder, f); l.each = &e }),
			lang.Field("do", func(f *lang.Node) { do = f }),
			lang.Field("maxIterations", func(f *lang.Node) { l.max = iterationsShape.Read(&d.Decoder, f) }),
			lang.Field("iframe", func(f *lang.Node) { l.frame = lang.FrameShape.Read(&d.Decoder, f) }),
		)
		if !ok {
			return l
		}
		if (repeat == nil) == (l.each == nil) {
			d.Fault(n, "want repeat, a number, or each, a selector: one of them")
		}
		if do == nil {
			d.Fault(n, "want do, the actions to run in each iteration")
			return l
		}
		leavable := d.leavable
		d.inLoop, d.leavable = true, false
		l.do = d.readSteps(do, s.Path+"/loop/do/", s.Index)
		d.inLoop, d.leavable = was, leavable
		return l
	},
	Opts:      []Opt{opt("maxIterations", iterationsShape, "Default: 100.")},
	Not:       NotInLoop,
	Unbounded: true,
	Result:    loopResult,
	Example:   `{"loop":{"each":".product","do":[{"getText":"$this h3","options":{"push":"titles"}}]}}`,
	Check: func(d *decoder, n *lang.Node, s *Step, v repetition) {
		if v.max == 0 {
			v.max = own(s, "maxIterations", DefaultIterations)
		}
		if v.frame == nil {
			v.frame = s.Options.Frame
		}
		v.limit = "maxIterations"
		s.value = v
		if v.repeat > v.max {
			d.Fault(n, "want repeat to be at most maxIterations, %d, not %d", v.max, v.repeat)
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v repetition) (Result, error) {
		l := &loopState{run: r, pushed: map[string][]Result{}}
		frame := r.page.frame
		if v.frame != nil {
			r.page.frame = v.frame
		}
		defer func() { r.page.frame = frame }()
		defer l.begin()()
		n := v.repeat
		if v.each != nil {
			var err error
			if n, err = l.find(ctx, s, v); err != nil {
				return nil, err
			}
		}
		for l.i = 0; l.i < n; {
			did, err := 0, ctx.Err()
			if err == nil {
				did, err = l.iterate(ctx, v, n)
			}
			if err != nil {
				return l.interrupted(err)
			}
			l.i += did
		}
		return l.result(n)
	},
})

// loopState is a loop that runs, or the attempts of a retry.
type loopState struct {
	run    *Run
	outer  *loopState // that this one runs in; nil: none
	i      int
	each   *elements // nil for a loop that repeats
	pushed map[string][]Result
	ahead  []batchReply // of the first steps, where they came with the elements
}

// elements are those of a loop, as the page script takes them: it finds them
// again by it when the document was replaced.
type elements struct {
	ID    string         `json:"id"`
	T     lang.Target    `json:"t"`
	In    []browser.Part `json:"in,omitempty"`
	Count int            `json:"count"`
}

func (l *loopState) push(key string, v Result) { l.pushed[key] = append(l.pushed[key], v) }

// result is what a loop gives.
func (l *loopState) result(n int) (Result, error) {
	if len(l.pushed) == 0 {
		return Result(fmt.Sprintf(`{"success":true,"iterations":%d}`, n)), nil
	}
	size := 2
	for k, v := range l.pushed {
		size += len(k) + 4 + joined(v)
	}
	if size > MaxResult {
		return nil, Problemf(CodeInvalidValue, "the result of loop has %d bytes, and %d are the limit", size, MaxResult)
	}
	out := make(map[string]json.RawMessage, len(l.pushed))
	for k, v := range l.pushed {
		out[k] = join(v)
	}
	return json.Marshal(out)
}

// find finds the elements of a loop and returns how many it is to go through.
func (l *loopState) find(ctx context.Context, s *Step, v repetition) (int, error) {
	bctx, cancel := l.run.bound(ctx, s)
	defer cancel()
	e := &elements{ID: rand.Text()}
	var err error
	if e.T, err = v.each.Target(l.run.cache); err != nil {
		return 0, err
	}
	if e.In, err = l.run.page.placeOf(s, e.T); err != nil {
		return 0, err
	}
	more := map[string]any{"id": e.ID}
	if around := l.around(); around != nil {
		more["within"] = around
	}
	if ahead := l.run.batches.ahead(v); ahead != nil {
		more["ahead"] = ahead
		l.run.timed(s) // asking for the steps has set their times
	}
	var got struct {
		Count int          `json:"count"`
		Ahead []batchReply `json:"ahead"`
	}
	if err := l.run.page.ask(bctx, s, "loop", *v.each, more, &got); err != nil {
		return 0, err
	}
	found := got.Count
	e.Count = found
	l.each, l.ahead = e, got.Ahead
	if found > v.max {
		l.run.path = s.Path
		l.run.warn("%d of %d matches %s left: %s is %d", found-v.max, found, Plural(found-v.max, "was", "were"), v.limit, v.max)
		return v.max, nil
	}
	return found, nil
}

// around are the loops over elements that this one runs in, as the page knows them.
func (l *loopState) around() (ids []string) {
	for o := l.outer; o != nil; o = o.outer {
		if o.each != nil {
			ids = append(ids, o.each.ID)
		}
	}
	return ids
}

// iterate runs one iteration, or several at once where the list only reads, and
// returns how many it ran.
func (l *loopState) iterate(ctx context.Context, v repetition, n int) (int, error) {
	if err := l.run.blocks.spend(1); err != nil {
		return 0, err
	}
	if l.run.batches.onlyReads(v.do) {
		return l.run.batches.iterate(ctx, v, n)
	}
	_, err := l.run.list(ctx, v.do)
	return 1, err
}
