package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// hand is what the mouse does: one of its gestures.
type hand struct {
	does  string         // one of gestures
	at    *browser.Point // nil: where the pointer is
	path  []browser.Point
	wheel browser.Point
}

// gestures are what a mouse can do, in the order of the documents.
var gestures = []string{"move", "click", "down", "up", "drag", "wheel"}

var buttonNames = func() (all []string) {
	for _, b := range browser.Buttons {
		all = append(all, string(b))
	}
	return all
}()

// maxStops bounds the points of one drag.
const maxStops = 100

var (
	viewPlace = lang.PairShape(lang.NumberShape("pixels from the left", 0, maxScroll), lang.NumberShape("pixels from the top", 0, maxScroll))
)

var _ = define(Action[hand]{
	Name: "mouse", Group: "Advanced",
	Doc: "Moves, presses and turns the mouse at coordinates, for programs that look at pictures. " +
		"`[x, y]` are CSS pixels from the upper left corner of what can be seen of the page, also where a frame lies. A `screenshot` of the `viewport` with `scale: css` has the same pixels. " +
		"`move` and `click` take a point. `down` and `up` take one, too. Alone, as the texts `down` and `up`, they mean where the pointer is. " +
		"`drag` takes 2 to 100 points: the button goes down at the first and up at the last. " +
		"`wheel` takes `[x, y]`, the pixels to scroll by, and turns where the pointer is. " +
		"A button that is down stays so for the actions that follow, such as `hover`, which then drags what it holds. The end of the list lets it go. " +
		"Nothing is waited for or scrolled to: what lies there gets the events. A point outside of what can be seen is an error.",
	Value: lang.Shape[hand]{
		Words: "gesture of the mouse",
		Schema: `{"anyOf":[{"enum":["down","up"]},{"type":"object","properties":{"move":` + viewPlace.Schema + `,"click":` + viewPlace.Schema + `,"down":` + viewPlace.Schema + `,"up":` + viewPlace.Schema +
			`,"drag":{"type":"array","items":` + viewPlace.Schema + fmt.Sprintf(`,"minItems":2,"maxItems":%d}`, maxStops) + `,"wheel":` + wayShape.Schema + `},"minProperties":1,"maxProperties":1,"additionalProperties":false}]}`,
		Read: readHand,
	},
	Opts: []Opt{
		opt("button", lang.EnumShape("a button", buttonNames...), "For `click`, `down`, `up` and `drag`. Default: `left`."),
		opt("count", lang.IntShape("how many times", 1, 3), "For `click`, how many times in quick succession: 2 is a double click. Default: 1."),
		opt("modifiers", modifiersShape, "Keys that are held during a `click` or `wheel`: `Alt`, `Control`, `Meta`, `Shift`, or several joined with `+`. `keyDown` holds keys for longer."),
	},
	Example: `{"mouse":{"click":[120,40]}}`,
	Check: func(d *decoder, n *lang.Node, s *Step, v hand) {
		for option, takes := range map[string][]string{"button": {"click", "down", "up", "drag"}, "count": {"click"}, "modifiers": {"click", "wheel"}} {
			if _, ok := s.Options.own[option]; ok && v.does != "" && !slices.Contains(takes, v.does) {
				d.Fault(n, "%s is for %s: %s does not take it", option, strings.Join(takes, ", "), v.does)
			}
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v hand) (Result, error) {
		t, err := r.settledTab(ctx, s)
		if err != nil {
			return nil, err
		}
		if err := v.inView(ctx, r, t); err != nil {
			return nil, err
		}
		r.page.input = sentAct
		return nil, v.play(ctx, r, s, t)
	},
})

func readHand(d *lang.Decoder, n *lang.Node) (v hand) {
	point := func(f *lang.Node) *browser.Point {
		p := viewPlace.Read(d, f)
		return &browser.Point{X: p.A, Y: p.B}
	}
	if n.IsString() {
		v.does = n.Text
		if v.does != "down" && v.does != "up" {
			d.Fault(n, `want "down", "up" or an object such as {"click": [x, y]}, not %q`, v.does)
		}
		return v
	}
	named := 0
	gesture := func(name string, read func(*lang.Node)) lang.Member {
		return lang.Field(name, func(f *lang.Node) { named, v.does = named+1, name; read(f) })
	}
	at := func(f *lang.Node) { v.at = point(f) }
	wrong := d.Wrong()
	read := d.ReadObject(n, "a gesture of the mouse", gesture("move", at), gesture("click", at), gesture("down", at), gesture("up", at),
		gesture("drag", func(f *lang.Node) {
			if !f.IsArray() || len(f.Elements) < 2 || len(f.Elements) > maxStops {
				d.Fault(f, "want 2 to %d points [x, y], not %s", maxStops, f.Describe())
				return
			}
			for _, e := range f.Elements {
				v.path = append(v.path, *point(e))
			}
		}),
		gesture("wheel", func(f *lang.Node) {
			by := wayShape.Read(d, f)
			v.wheel = browser.Point{X: by.A, Y: by.B}
		}))
	if read && named != 1 && d.Wrong() == wrong {
		d.Fault(n, "want one of %s, not %d of them", strings.Join(gestures, ", "), named)
	}
	return v
}

// inView refuses points that nobody can point at.
func (v hand) inView(ctx context.Context, r *Run, t *browser.Tab) error {
	points := v.path
	if v.at != nil {
		points = append(slices.Clone(points), *v.at)
	}
	if len(points) == 0 {
		return nil
	}
	wide, high := r.tabs.Size()
	w, h := float64(wide), float64(high)
	if s := r.tabs.Surrounded(); s != nil && s.Device != nil { // which may draw the page larger or smaller
		seen, zoom, err := t.Visible(ctx)
		if err != nil {
			return err
		}
		if zoom != 1 {
			w, h = seen.Width, seen.Height
		}
	}
	for _, p := range points {
		if p.X >= w || p.Y >= h {
			return Problemf(CodeInvalidValue, "[%g, %g] is outside of what can be seen of the page, which has %.0f × %.0f pixels: scroll, or take a new picture", p.X, p.Y, w, h)
		}
	}
	return nil
}

// play does what the mouse is to do.
func (v hand) play(ctx context.Context, r *Run, s *Step, t *browser.Tab) error {
	button, in := browser.Button(own(s, "button", string(browser.LeftButton))), &t.Input
	at := in.Pointer()
	if v.at != nil {
		at = *v.at
	}
	switch v.does {
	case "move":
		if err := in.PointMayGo(ctx, at); err != nil {
			return err
		}
		return in.Move(ctx, at)
	case "click":
		how := browser.Clicking{Button: button, Times: own(s, "count", 1), Held: own[*browser.Chord](s, "modifiers", nil)}
		err := in.ClickAs(ctx, at, how)
		if err == nil && how.OpensTabsWith(in) {
			t.Script.Expecting(ctx)
		}
		return err
	case "down":
		if in.IsDown(button) {
			r.warn("the %s button was down already", button)
			return in.Move(ctx, at)
		}
		return in.Hold(ctx, button, at)
	case "up":
		if !in.IsDown(button) {
			r.warn("the %s button was not down", button)
		}
		return in.Release(ctx, button, at)
	case "wheel":
		return in.Wheel(ctx, at, v.wheel, own[*browser.Chord](s, "modifiers", nil))
	}
	return v.drag(ctx, t, button)
}

// drag takes what lies at the first point to the last, by way of the others.
func (v hand) drag(ctx context.Context, t *browser.Tab, button browser.Button) error {
	in := &t.Input
	if in.IsDown(button) {
		return Problemf(CodeInvalidValue, "The %s button is down already: move drags what it holds, and up lets it go", button)
	}
	if err := in.Hold(ctx, button, v.path[0]); err != nil {
		return err
	}
	last := v.path[len(v.path)-1]
	for i, p := range v.path[1:] {
		if err := in.Move(ctx, v.path[i].Way(p)...); err != nil {
			_ = in.Release(context.WithoutCancel(ctx), button, in.Pointer())
			return err
		}
	}
	return in.Release(ctx, button, last)
}
