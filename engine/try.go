package engine

import (
	"context"
	"encoding/json"

	"troupe/engine/lang"
)

type trial struct {
	do, catch []Step
	as        string
}

func (t trial) lists() [][]Step { return [][]Step{t.do, t.catch} }

func (t trial) writes() []string {
	if t.as == "" {
		return nil
	}
	return []string{t.as}
}

var _ = define(Action[trial]{
	Name: "try", Group: "Control flow",
	Doc: "Runs the list `do`, and the list `catch` if an action in `do` fails. In `do` every failure ends the list, except of actions with `continueOnError: true`; a failure that ends it does not count as one, and `config.trace` shows it. " +
		"With `as`, the failure is saved under that key as `{code, error, actionPath}` before `catch` runs. A crash of the browser and the end of the task's time are not caught.",
	Value: lang.Shape[trial]{
		Words: "{do, catch, as}", Schema: `{"type":"object","required":["do"],"additionalProperties":false,"properties":{"do":{"$ref":"#/$defs/actions"},"catch":{"$ref":"#/$defs/actions"},"as":` + lang.KeyShape.Schema + `}}`,
	},
	Decode: func(d *decoder, n *lang.Node) (t trial) {
		s := d.step
		var do, catch *lang.Node
		ok := d.ReadObject(n, "try",
			lang.Field("do", func(f *lang.Node) { do = f }),
			lang.Field("catch", func(f *lang.Node) { catch = f }),
			lang.Field("as", func(f *lang.Node) { t.as = lang.KeyShape.Read(&d.Decoder, f) }),
		)
		if !ok {
			return t
		}
		t.do = d.readDo(n, do, s, "do")
		if catch != nil {
			t.catch = d.readDo(n, catch, s, "catch")
		}
		return t
	},
	Unbounded: true,
	Result:    "the last result of `do`, or of `catch` if that ran",
	Example:   `{"try":{"do":[{"click":"#accept-cookies","options":{"timeout":200}}],"catch":[{"getText":"h1"}],"as":"why"}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v trial) (Result, error) {
		defer r.blocks.enter(s)()
		r.blocks.trials++
		res, failed, err := r.blocks.guarded(func() (Result, error) { return r.list(ctx, v.do) })
		r.blocks.trials--
		if failed == nil {
			return res, err
		}
		if v.as != "" {
			b, err := json.Marshal(struct {
				Code  Code   `json:"code"`
				Error string `json:"error"`
				Path  string `json:"actionPath"`
			}{failed.Code, failed.Text, failed.Path})
			if err != nil {
				return nil, err
			}
			if !r.cache.Set(v.as, b) {
				return nil, errCacheFull
			}
		}
		return r.list(ctx, v.catch)
	},
})
