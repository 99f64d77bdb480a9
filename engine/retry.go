package engine

import (
	"context"
	"errors"
	"time"

	"troupe/engine/lang"
)

type attempts struct {
	times int
	delay time.Duration
	do    []Step
}

func (a attempts) lists() [][]Step { return [][]Step{a.do} }

// maxAttempts bounds the attempts of retry.
const maxAttempts = 100

var _ = define(Action[attempts]{
	Name: "retry", Group: "Control flow",
	Doc: "Runs a list of actions, and runs it again if an action in it fails: `times` times in all (1 to 100), with `delay` milliseconds between (default: 0). " +
		"In the list every failure ends the attempt, except of actions with `continueOnError: true`. Only the failure of the last attempt counts as one; `config.trace` shows the others. " +
		"Saved and pushed values of an attempt stay, and so does its effect on the page.",
	Value: lang.Shape[attempts]{
		Words: "{times, delay, do}", Schema: `{"type":"object","required":["times","do"],"additionalProperties":false,"properties":{"times":{"type":"integer","minimum":1,"maximum":100},"delay":{"type":"number","minimum":0,"maximum":86400000,"default":0},"do":{"$ref":"#/$defs/actions"}}}`,
	},
	Decode: func(d *decoder, n *lang.Node) (a attempts) {
		s := d.step
		var times, do *lang.Node
		ok := d.ReadObject(n, "retry",
			lang.Field("times", func(f *lang.Node) {
				times = f
				a.times = lang.IntShape("number of attempts", 1, maxAttempts).Read(&d.Decoder, f)
			}),
			lang.Field("delay", func(f *lang.Node) { a.delay = lang.PauseShape("a time in milliseconds").Read(&d.Decoder, f) }),
			lang.Field("do", func(f *lang.Node) { do = f }),
		)
		if !ok {
			return a
		}
		if times == nil {
			d.Fault(n, "want times, how often to run the actions at most")
		}
		a.do = d.readDo(n, do, s, "do")
		return a
	},
	Unbounded: true,
	Result:    "the last result of the attempt that succeeded",
	Example:   `{"retry":{"times":3,"delay":200,"do":[{"open":"http://demo.troupe.test/"},{"waitForElement":".product","options":{"timeout":2000}}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v attempts) (Result, error) {
		defer r.blocks.enter(s)()
		l := &loopState{run: r, pushed: map[string][]Result{}}
		defer l.begin()()
		for ; ; l.i++ {
			if err := r.blocks.spend(1); err != nil {
				return nil, err
			}
			waits := len(r.captures.list)
			res, failed, err := r.blocks.guarded(func() (Result, error) { return r.list(ctx, v.do) })
			if failed == nil {
				return res, err
			}
			if l.i+1 == v.times {
				failed.Tolerated = r.blocks.tolerates(s) // it is the failure of all attempts
				if r.blocks.caught = failed; r.blocks.guards == 0 {
					r.blocks.uncaught(ctx)
				}
				if errors.Is(err, errMust) && s.mayFail() {
					err = errStopped
				}
				return nil, err
			}
			r.captures.tolerate(waits)
			if err := r.sleep(ctx, v.delay); err != nil {
				return nil, err
			}
		}
	},
})
