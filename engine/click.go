package engine

import (
	"context"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "click", Group: "Interaction",
	Doc: "Clicks a visible point of an element with the pointer, once the element is visible, enabled and still. It waits for a disabled element up to the action's time; `options.timeout` shortens that. " +
		"It scrolls an element out from under a bar first, also if only its middle is covered. Of a text field that cannot be hit itself, it clicks the box that the page draws around it. If the page replaces the element under the pointer, it clicks the replacement if that is alike, else it fails with `element_gone`. " +
		"If another element still covers it after a second, the click goes through the DOM instead. Its event is not trusted then, and a warning names the cover. `force: false` makes that a failure.",
	Value: lang.SelectorShape,
	Opts: append([]Opt{
		opt("count", lang.IntShape("how many times", 1, 3), "How many times to click in quick succession: 2 is a double click. Default: 1."),
	}, clickOpts...),
	Example: `{"click":"#next"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.pointer.click(ctx, s, v, browser.Clicking{Times: own(s, "count", 1)})
	},
})

// clickOpts are the options of all actions that click an element.
var clickOpts = []Opt{
	opt("force", lang.BoolShape, "Whether a covered element is clicked through the DOM. Default: true."),
	opt("at", placeShape, "Where in the element to click: CSS pixels from its left and its upper edge. Default: a point of it that can be seen, mostly its middle."),
	opt("modifiers", modifiersShape, "Keys that are held during the click: `Alt`, `Control`, `Meta`, `Shift`, or several joined with `+`."),
}

// placeShape is a place in an element.
var placeShape = lang.PairShape(lang.NumberShape("pixels from the left", 0, maxScroll), lang.NumberShape("pixels from the top", 0, maxScroll))

// modifiersShape is the keys that are held while something else is done.
var modifiersShape = lang.Shape[*browser.Chord]{
	Words: "modifiers such as Control+Shift", Schema: `{"type":"string","minLength":1}`,
	Read: func(d *lang.Decoder, n *lang.Node) *browser.Chord {
		text, ok := d.ReadString(n, "modifiers such as Control+Shift")
		if !ok {
			return nil
		}
		held, err := browser.ParseModifiers(text)
		if err != nil {
			d.Fault(n, "%s", err)
		}
		return held
	},
}

// placed is the place in an element that a step names, for the page script; nil: none.
func placed(s *Step, option string) []float64 {
	if at, ok := s.Options.own[option].(lang.Pair[float64, float64]); ok {
		return []float64{at.A, at.B}
	}
	return nil
}
