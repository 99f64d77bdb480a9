package engine

import "troupe/engine/lang"

var stateShape = lang.EnumShape("a state", "attached", "visible", "enabled", "stable", "hidden", "gone")

var _ = define(Action[lang.Selector]{
	Name: "waitForElement", Group: "Waiting",
	Doc: "Waits until an element is in the document, or in another `state`. `enabled` is visible and not disabled. `stable` is visible with a box that stands still for 100 ms. " +
		"`hidden` means that nothing that matches can be seen, `gone` that nothing matches. With `count` it waits until exactly so many elements are in that state.",
	Value: lang.SelectorShape,
	Opts: []Opt{
		opt("state", stateShape, "What to wait for. Default: `attached`."),
		opt("count", lang.IntShape("number of elements", 0, maxCount), "How many elements have to be in that state; not with `hidden` and `gone`. Default: at least one."),
	},
	Finds:   true,
	Example: `{"waitForElement":".hit","options":{"state":"visible","timeout":5000}}`, Page: "/live",
	Check: func(d *decoder, n *lang.Node, s *Step, v lang.Selector) {
		state := own(s, "state", "attached")
		count, counts := s.Options.own["count"]
		absent := state == "hidden" || state == "gone"
		switch {
		case counts && absent:
			d.Fault(n, "count goes with attached, visible, enabled and stable, not with %s: for none in the document want %q alone", state, "gone")
		case s.Options.Save != "" && (absent || counts && count == 0):
			d.Fault(n, "save keeps the element, and there is none to keep when the action ends")
		}
	},
	Read: func(r *Run, s *Step, v lang.Selector) (Call, error) {
		state, count := own(s, "state", "attached"), s.Options.own["count"]
		if state == "attached" && count == nil {
			return r.page.find("find", v, r.saveElement(s))
		}
		more := map[string]any{"state": state}
		if count != nil {
			more["count"] = count
		}
		if s.Options.Save != "" {
			more["as"] = s.Options.Save
		}
		return r.page.find("await", v, more)
	},
})

// maxCount bounds how many elements are waited for.
const maxCount = 1_000_000
