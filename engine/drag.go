package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// carry is what is dragged, and where it is let go.
type carry struct {
	what  lang.Selector
	files []source // instead of an element
	onto  lang.Selector
	by    *browser.Point // instead of an element: so far from where it was taken
}

func (v carry) Keys(to map[string]bool) {
	v.what.Keys(to)
	v.onto.Keys(to)
	for _, f := range v.files {
		f.url.Keys(to)
	}
}

var wayShape = lang.PairShape(lang.NumberShape("pixels to the right", -maxScroll, maxScroll), lang.NumberShape("pixels down", -maxScroll, maxScroll))

var _ = define(Action[carry]{
	Name: "drag", Group: "Interaction",
	Doc: "Drags an element onto another one with the pointer: it presses the button on the first, moves to the second and lets go. Pages that drag by pointer events see the pointer move; what is `draggable` is dragged and dropped as the browser does it, with `dragstart`, `dragover`, `drop` and `dragend`. " +
		"Instead of the second element, `[x, y]` drags by so many CSS pixels, as for a slider. Instead of the first, `$file:N` or an array of such files drops files of the request. " +
		"The place may appear when the drag begins: until it can be seen, the element, or the files, are dragged over the page. " +
		"A warning says if the second element accepts nothing that is dropped; with files that is a failure.",
	Value: lang.Shape[carry]{
		Words: "[selector, selector or [x, y]]",
		Schema: `{"type":"array","prefixItems":[{"anyOf":[` + lang.SelectorShape.Schema + `,{"type":"array","items":` + sourceSchema + `,"minItems":1,"maxItems":50}]},{"anyOf":[` +
			lang.SelectorShape.Schema + `,` + wayShape.Schema + `]}],"minItems":2,"maxItems":2}`,
	},
	Opts: []Opt{
		opt("at", placeShape, "Where the element is taken: CSS pixels from its left and its upper edge. Default: a point of it that can be seen, mostly its middle."),
		opt("to", placeShape, "Where in the second element it is let go: CSS pixels from its left and its upper edge."),
		opt("hold", lang.PauseShape("a time in milliseconds"), "How long the pointer rests on the element before it moves, for pages that drag only what is held, such as 300. Default: 0."),
	},
	Example: `{"drag":["h1",[120,0]]}`,
	Decode: func(d *decoder, n *lang.Node) (v carry) {
		if !n.IsArray() || len(n.Elements) != 2 {
			d.Fault(n, "want [selector, selector] or [selector, [x, y]], not %s", n.Describe())
			return v
		}
		what, onto := n.Elements[0], n.Elements[1]
		switch {
		case what.IsArray():
			if len(what.Elements) == 0 || len(what.Elements) > 50 {
				d.Fault(what, "want 1 to 50 files, not %d", len(what.Elements))
			}
			for _, e := range what.Elements {
				v.files = append(v.files, d.readSource(e))
			}
		case what.IsString() && strings.HasPrefix(what.Text, "$file:"):
			v.files = []source{d.readSource(what)}
		default:
			v.what = lang.SelectorShape.Read(&d.Decoder, what)
		}
		if !onto.IsArray() {
			v.onto = lang.SelectorShape.Read(&d.Decoder, onto)
			return v
		}
		way := wayShape.Read(&d.Decoder, onto)
		v.by = &browser.Point{X: way.A, Y: way.B}
		if v.files != nil {
			d.Fault(onto, "want the selector of the element that the files are dropped on")
		}
		return v
	},
	Run: func(ctx context.Context, r *Run, s *Step, v carry) (Result, error) {
		if v.files != nil {
			return nil, v.dropFiles(ctx, r, s)
		}
		return nil, v.drag(ctx, r, s)
	},
})

// drag takes an element and lets it go elsewhere.
func (v carry) drag(ctx context.Context, r *Run, s *Step) (err error) {
	arg := map[string]any{}
	if at := placed(s, "at"); at != nil {
		arg["at"] = at
	}
	if v.by == nil { // pages drop what they drag when they are scrolled under the pointer
		if err := r.page.ask(ctx, s, "bring", v.onto, nil, nil); err != nil {
			return err
		}
	}
	from, err := r.pointer.aim(ctx, s, "lift", v.what, arg)
	if err != nil {
		return err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return err
	}
	end, err := t.Input.Take(ctx, from.Point)
	if err != nil {
		return err
	}
	r.page.input = sentAct
	at := from.Point
	defer func() { // the button must not stay down
		if gone := end(ctx, at); err == nil {
			err = gone
		}
		r.page.input = sentAct
	}()
	if held := own(s, "hold", time.Duration(0)); held > 0 {
		if err := r.sleep(ctx, held); err != nil {
			return err
		}
	}
	// Where it goes is looked for when it has been taken: pages make room then. What cannot be
	// seen yet may come when it is dragged.
	later := v.by == nil
	if later {
		if later, err = v.unseen(ctx, r, s); err != nil {
			return err
		}
	}
	w, h := r.tabs.Size()
	to := browser.Point{X: float64(w) / 2, Y: float64(h) / 2}
	if !later {
		if to, err = v.spot(ctx, r, s, from.Point); err != nil {
			return err
		}
	}
	// Browsers and pages drag only what has moved a little.
	at = from.Toward(to, 12)
	if at == from.Point { // it lies in the middle of the page already
		at = browser.Point{X: from.X + 12, Y: from.Y}
	}
	if err := t.Input.Drag(ctx, from.Toward(at, 4), at); err != nil {
		return err
	}
	var lifted bool
	raw, err := r.page.call(ctx, s, Call{Fn: "lifted"})
	if err == nil {
		err = json.Unmarshal(raw, &lifted)
	}
	if err != nil {
		return fmt.Errorf("asking whether the browser drags: %w", err)
	}
	if lifted {
		if err := t.Input.AwaitDragged(ctx); err != nil {
			return err
		}
	}
	if later {
		if lifted {
			if err := t.Input.DragElementTo(ctx, at, at.Near()); err != nil {
				return err
			}
		}
		if to, err = v.spot(ctx, r, s, from.Point); err != nil {
			return err
		}
	}
	if !lifted {
		if err := t.Input.Drag(ctx, at.Way(to)...); err != nil {
			return err
		}
		at = to
		return nil
	}
	var there *browser.Point
	if v.by == nil {
		if err := r.page.ask(ctx, s, "drag", v.onto, nil, &there); err != nil {
			return err
		}
	}
	if err := t.Input.DragElementTo(ctx, at.Way(to)...); err != nil {
		return err
	}
	at = to
	if there == nil {
		return t.Input.DropElement(ctx, to)
	}
	of := offer{run: r, step: s, into: v.onto}
	if err := t.Input.DropElement(ctx, to); err != nil {
		return err
	}
	is, err := of.dragged(ctx, true)
	if err == nil && !is.Dropped && !is.Gone {
		r.warn("%q did not accept what was dragged onto it", v.onto.String())
	}
	return err
}

// unseen reports whether the element that something is let go over cannot be seen now.
func (v carry) unseen(ctx context.Context, r *Run, s *Step) (bool, error) {
	var seen bool
	err := r.page.ask(ctx, s, "visible", v.onto, nil, &seen)
	return !seen, err
}

// spot is where what was taken at a point is let go.
func (v carry) spot(ctx context.Context, r *Run, s *Step, from browser.Point) (browser.Point, error) {
	if v.by != nil {
		return browser.Point{X: from.X + v.by.X, Y: from.Y + v.by.Y}, nil
	}
	arg := map[string]any{"hover": true, "force": true}
	if at := placed(s, "to"); at != nil {
		arg["at"] = at
	}
	p, err := r.pointer.aim(ctx, s, "point", v.onto, arg)
	if err == nil && p.Covered != "" {
		r.warn("%q is covered by %s: it is let go over that", v.onto.String(), p.Covered)
	}
	return p.Point, err
}

// dropFiles drops files of the request on an element.
func (v carry) dropFiles(ctx context.Context, r *Run, s *Step) error {
	of := offer{run: r, step: s, into: v.onto}
	for _, f := range v.files {
		path, err := f.fetch(ctx, r)
		if err != nil {
			return err
		}
		of.paths = append(of.paths, path)
	}
	t, err := r.page.tab(ctx)
	if err != nil {
		return err
	}
	if err := of.show(ctx, t); err != nil {
		return err
	}
	if _, err := v.spot(ctx, r, s, browser.Point{}); err != nil { // waits for the element
		return errors.Join(err, of.away(context.WithoutCancel(ctx), t))
	}
	dropped, err := of.drop(ctx, t, nil)
	if err == nil && !dropped {
		return Problemf(CodeInvalidValue, "Element %q does not accept files that are dropped on it", v.onto.String())
	}
	return err
}
