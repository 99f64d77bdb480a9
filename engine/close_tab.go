package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(Action[*tabChoice]{
	Name: "closeTab", Group: "Tabs and history",
	Doc: "Closes the current tab (`true`) or another one, named as in `switchTab`. The tab that was the current one before becomes the current one. If no other is open, the next action begins in a blank one.",
	Value: lang.Shape[*tabChoice]{
		Words: "true or " + tabShape.Words, Schema: `{"anyOf":[{"const":true},` + tabShape.Schema + `]}`,
		Read: func(d *lang.Decoder, n *lang.Node) *tabChoice {
			if n.Kind == 't' {
				return nil
			}
			c := tabShape.Read(d, n)
			return &c
		},
	},
	Example: `{"closeTab":true}`,
	Keys: func(v *tabChoice, to map[string]bool) {
		if v != nil {
			v.Keys(to)
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v *tabChoice) (Result, error) {
		t, err := r.tabs.Tab(ctx)
		if v != nil {
			t, err = v.await(ctx, r)
		}
		if err != nil {
			return nil, err
		}
		r.page.input, r.page.script = sentNothing, false
		r.tabs.CloseTab(ctx, t)
		return nil, nil
	},
})
