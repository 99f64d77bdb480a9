package engine

import (
	"context"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "click", Group: "Interaction",
	Doc: "Clicks a visible point of an element with the pointer, once the element is visible, enabled and still. It waits for a disabled element up to the action's time; `options.timeout` shortens that. " +
		"It scrolls an element out from under a bar first. If the page replaces the element under the pointer, it clicks the replacement if that is alike, else it fails with `element_gone`. " +
		"If another element still covers it after a second, the click goes through the DOM instead. Its event is not trusted then, and a warning names the cover. `force: false` makes that a failure.",
	Value: lang.SelectorShape,
	Opts: append([]Opt{
		opt("count", lang.IntShape("how many times", 1, 3), "How many times to click in quick succession: 2 is a double click. Default: 1."),
	}, clickOpts...),
	Example: `{"click":"#next"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.click(ctx, s, v, browser.Clicking{Times: own(s, "count", 1)})
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

// spot is where input for an element must go, or what covers it.
type spot struct {
	browser.Point
	Covered string          `json:"covered"`
	All     []browser.Point `json:"all"`   // in a frame of another origin: where else it may go
	Done    bool            `json:"done"`  // nothing needs to be clicked
	Aside   bool            `json:"aside"` // the pointer must go here first: the element flees from it
}

// aim asks the page script where input for an element must go. Where the element
// flees from the pointer, that is moved aside, and the page asked once more.
func (r *Run) aim(ctx context.Context, s *Step, fn string, v lang.Selector, arg map[string]any) (p spot, err error) {
	guard := 0
	if arg["guard"] == true {
		guard = 1
	}
	seen, err := r.inPage(ctx, v.String(), arg["force"] == true, func() (a browser.Aim, err error) {
		if p, err = r.aimOnce(ctx, s, fn, v, arg); err != nil || p.Done {
			return a, err
		}
		a.Points, a.Guard = []browser.Point{p.Point}, guard
		if len(p.All) > 0 {
			a.Points = p.All
		}
		return a, nil
	})
	if err == nil && len(seen.Points) > 0 {
		p.Point = seen.Points[0]
	}
	if err == nil && seen.Covered != "" && p.Covered == "" {
		p.Covered = seen.Covered
	}
	return p, err
}

func (r *Run) aimOnce(ctx context.Context, s *Step, fn string, v lang.Selector, arg map[string]any) (p spot, err error) {
	if err := r.page.ask(ctx, s, fn, v, arg, &p); err != nil || !p.Aside {
		return p, err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return p, err
	}
	aside, err := r.pointInPage(ctx, p.Point)
	if err != nil {
		return p, err
	}
	if err := t.Input.Move(ctx, aside); err != nil {
		return p, err
	}
	r.page.input, p = sentAct, spot{}
	arg["aside"] = true
	return p, r.page.ask(ctx, s, fn, v, arg, &p)
}

// click clicks an element as a step's options and how say.
func (r *Run) click(ctx context.Context, s *Step, v lang.Selector, how browser.Clicking) error {
	how.Held = own[*browser.Chord](s, "modifiers", nil)
	return r.clickAt(ctx, s, v, how, func(again bool) (spot, error) {
		arg := map[string]any{"force": own(s, "force", true), "guard": true, "times": how.Times, "again": again}
		if at := placed(s, "at"); at != nil {
			arg["at"] = at
		}
		return r.aim(ctx, s, "point", v, arg)
	}, func(in *browser.Input, ctx context.Context, p browser.Point) error {
		return in.ClickAs(ctx, p, how)
	})
}

// clickAt clicks where look says, or through the DOM where that is allowed and
// the only way. A page that moves between the look and the click is looked at
// again: the page script keeps a click that would hit something else from it. What
// stands in the place of an element that was drawn anew is clicked for it.
func (r *Run) clickAt(ctx context.Context, s *Step, v lang.Selector, how browser.Clicking, look func(again bool) (spot, error), press func(*browser.Input, context.Context, browser.Point) error) error {
	for again := false; ; again = true {
		p, err := look(again)
		if err != nil || p.Done {
			return err
		}
		r.page.input = sentAct
		if p.Covered != "" {
			r.warn("%q is covered by %s: clicked through the DOM", v.String(), p.Covered)
			err := r.page.ask(ctx, s, "clickByScript", v, map[string]any{"times": max(1, how.Times), "right": how.Right, "held": how.Held.Mask()}, nil)
			r.page.input = sentAct
			return err
		}
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return err
		}
		t.Input.Aim()
		if err := press(&t.Input, ctx, p.Point); err != nil {
			return err
		}
		hit := t.Input.Hit(ctx)
		r.page.at.Unguard()
		if hit {
			if by := t.Input.Unclicked(); by != "" {
				r.warn("%q was replaced by %s while the button was down on it: neither got the click event", v.String(), by)
			}
			return nil
		}
		if time.Now().After(r.deadline) {
			return Problemf(CodeTimeout, "Element %q kept moving away from under the pointer for %dms", v.String(), Millis(r.limit))
		}
	}
}
