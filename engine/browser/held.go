package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// stillDown is what stays down from one action to the next: keys and buttons. Every event of
// the mouse and every key that is pressed carries it; texts that are typed do not.
type stillDown struct {
	keys    []*kb.Key // in the order in which they went down
	mask    int64     // the modifiers among them
	buttons int64     // of the mouse, as MouseEvent.buttons has them

	// Of the primary button, while it is down: where that was, what lets it go, and the
	// page script that knows whether the browser drags what was there; nil once that is
	// decided.
	from    Point
	release func(context.Context, Point) error
	lift    *PageScript
}

// Button is a button of the mouse, by its name. Empty: none, or of a click the primary one.
type Button = input.MouseButton

// The buttons of a mouse.
const (
	LeftButton   = input.MouseButtonLeft
	MiddleButton = input.MouseButtonMiddle
	RightButton  = input.MouseButtonRight
)

// Buttons lists the buttons of a mouse, the primary one first.
var Buttons = []Button{LeftButton, MiddleButton, RightButton}

// bits are the buttons as MouseEvent.buttons has them.
var bits = map[Button]int64{LeftButton: 1, RightButton: 2, MiddleButton: 4}

// mouseEvent is one event of the mouse.
type mouseEvent struct {
	kind      input.DispatchMouseEventType
	at        Point
	of        Button // that goes down or up, or is down while the pointer moves
	down      bool   // whether it is down then
	count     int64  // of clicks, with it
	modifiers int64  // beside those that are held
}

// mouse sends one event of the mouse.
func (in *Input) mouse(e mouseEvent) *pending {
	buttons := in.held.buttons &^ bits[e.of]
	if e.down {
		buttons |= bits[e.of]
	}
	if e.of == "" { // of a move it is a button that is held, which any listener can ask for
		e.of = input.MouseButtonNone
		if i := slices.IndexFunc(Buttons, func(b Button) bool { return buttons&bits[b] != 0 }); i >= 0 {
			e.of = Buttons[i]
		}
	}
	p := input.DispatchMouseEventParams{
		Type: e.kind, X: e.at.X, Y: e.at.Y, Button: e.of, Buttons: buttons, ClickCount: e.count,
		Modifiers: e.modifiers | in.held.mask,
	}
	if buttons != 0 { // as a mouse has it; signature pads draw by it
		p.Force = 0.5
	}
	return in.tab.s.send(input.CommandDispatchMouseEvent, p)
}

// IsDown reports whether a button is held.
func (in *Input) IsDown(b Button) bool { return in.held.buttons&bits[b] != 0 }

// Hold presses a button at a point and keeps it down. What the primary button holds is
// dragged by all moves from then on.
func (in *Input) Hold(ctx context.Context, b Button, p Point) error {
	if b != LeftButton {
		if err := in.PointMayGo(ctx, p); err != nil {
			return err
		}
		if err := in.Move(ctx, p); err != nil {
			return err
		}
		in.held.buttons |= bits[b]
		return in.await(ctx, "pressing a button", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMousePressed, at: p, of: b, down: true, count: 1}))
	}
	lift, err := in.leadsTo(ctx, "pointerGoes", map[string]any{"point": p, "lift": true})
	if err != nil {
		return err
	}
	release, err := in.Take(ctx, p)
	if err != nil {
		return err
	}
	in.held.release, in.held.lift, in.held.from = release, lift, p
	in.held.buttons |= bits[b]
	return nil
}

// Release lets a button go at a point, where what it drags is dropped.
func (in *Input) Release(ctx context.Context, b Button, p Point) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	if p != in.Pointer() {
		if err := in.Move(ctx, p); err != nil {
			return err
		}
	}
	if b == LeftButton && in.held.release != nil {
		var err error
		if in.dragged != nil {
			err = in.DropElement(ctx, p)
		}
		if gone := in.letLeftGo(ctx, p); err == nil {
			err = gone
		}
		return err
	}
	in.held.buttons &^= bits[b]
	return in.await(ctx, "releasing a button", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseReleased, at: p, of: b, count: 1}))
}

func (in *Input) letLeftGo(ctx context.Context, p Point) error {
	release := in.held.release
	in.held.release, in.held.lift = nil, nil
	in.held.buttons &^= bits[LeftButton]
	return release(ctx, p)
}

// decided is how far a pointer must have moved for the browser to drag what it holds, or not
// to.
const decided = 5

// dragHeld moves the pointer while the primary button is held.
func (in *Input) dragHeld(ctx context.Context, path []Point) error {
	at := in.Pointer()
	for _, to := range path {
		if in.dragged != nil {
			if err := in.DragElementTo(ctx, at.Way(to)...); err != nil {
				return err
			}
			at = to
			continue
		}
		way := []Point{to}
		if in.held.lift != nil && far(in.held.from, to) >= decided { // browsers and pages drag only what has moved a little
			way = []Point{in.held.from.Toward(to, decided), to}
		}
		for _, p := range way {
			if err := in.Drag(ctx, p); err != nil {
				return err
			}
			if in.held.lift == nil || far(in.held.from, p) < decided {
				continue
			}
			lifted, err := in.lifted(ctx)
			if err != nil {
				return err
			}
			if lifted {
				if err := in.AwaitDragged(ctx); err != nil {
					return err
				}
				if err := in.DragElementTo(ctx, p.Way(to)...); err != nil {
					return err
				}
				break
			}
		}
		at = to
	}
	return nil
}

func far(a, b Point) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }

// lifted reports whether the browser drags what the button holds.
func (in *Input) lifted(ctx context.Context) (is bool, err error) {
	script := in.held.lift
	in.held.lift = nil
	r, err := script.Call(ctx, "lifted", map[string]any{})
	if err == nil {
		err = json.Unmarshal(r.Value, &is)
	}
	if err != nil {
		return false, fmt.Errorf("asking whether the browser drags: %w", err)
	}
	return is, nil
}

// wheelEvent is an event of the wheel, which must say both ways, also where one is zero.
type wheelEvent struct {
	Type      input.DispatchMouseEventType `json:"type"`
	X         float64                      `json:"x"`
	Y         float64                      `json:"y"`
	DeltaX    float64                      `json:"deltaX"`
	DeltaY    float64                      `json:"deltaY"`
	Buttons   int64                        `json:"buttons"`
	Modifiers int64                        `json:"modifiers"`
}

// Wheel turns the wheel over a point.
func (in *Input) Wheel(ctx context.Context, p, by Point, modifiers *Chord) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	if err := in.Move(ctx, p); err != nil {
		return err
	}
	sent := in.keys(modifiers.downs())
	sent = append(sent, in.tab.s.send(input.CommandDispatchMouseEvent, wheelEvent{
		Type: input.DispatchMouseEventTypeMouseWheel, X: p.X, Y: p.Y, DeltaX: by.X, DeltaY: by.Y,
		Buttons: in.held.buttons, Modifiers: modifiers.Mask() | in.held.mask,
	}))
	return in.await(ctx, "turning the wheel", append(sent, in.keys(modifiers.ups())...)...)
}

// Holds reports whether a button or a key is held.
func (in *Input) Holds() bool { return in.held.buttons != 0 || len(in.held.keys) > 0 }

// Modifiers is the modifiers that are held, as the protocol has them.
func (in *Input) Modifiers() int64 { return in.held.mask }

// OpensTabsWith reports whether a click so may open a tab that the page has not asked for.
func (how Clicking) OpensTabsWith(in *Input) bool {
	return how.Button == MiddleButton || opensTabs(how.Held.Mask()|in.held.mask)
}

// HoldKey presses a key and keeps it down. One that is down already repeats, as on a
// keyboard.
func (in *Input) HoldKey(ctx context.Context, c *Chord) error {
	if err := in.KeysMayGo(ctx); err != nil {
		return err
	}
	down, _ := c.With(in).keyEvents()
	if again := in.holds(c); again {
		down.AutoRepeat = &again
	} else {
		in.held.keys = append(in.held.keys, c.key)
		in.held.mask |= ownMask(c.key)
	}
	return in.await(ctx, "pressing a key", in.keys([]input.DispatchKeyEventParams{down})...)
}

// ReleaseKey lets a key go, and reports whether it was held.
func (in *Input) ReleaseKey(ctx context.Context, c *Chord) (was bool, err error) {
	if err := in.KeysMayGo(ctx); err != nil {
		return false, err
	}
	was = in.holds(c)
	return was, in.letKeyGo(ctx, c)
}

func (in *Input) letKeyGo(ctx context.Context, c *Chord) error {
	in.held.keys = slices.DeleteFunc(in.held.keys, func(k *kb.Key) bool { return sameKey(k, c.key) })
	in.held.mask &^= ownMask(c.key)
	_, up := c.With(in).keyEvents()
	return in.await(ctx, "releasing a key", in.keys([]input.DispatchKeyEventParams{up})...)
}

func (in *Input) holds(c *Chord) bool {
	return slices.ContainsFunc(in.held.keys, func(k *kb.Key) bool { return sameKey(k, c.key) })
}

// sameKey compares keys by their place on the keyboard: "a" and "A" are one.
func sameKey(a, b *kb.Key) bool { return a == b || a.Code != "" && a.Code == b.Code }

// With is a chord as it is pressed while the keys are held that are.
func (c *Chord) With(in *Input) *Chord { return c.with(in.held.mask) }

// Name is how a chord is written.
func (c *Chord) Name() string {
	var names []string
	for _, m := range []string{"Control", "Alt", "Meta", "Shift"} {
		if c.mask&modifierMask[m]&^ownMask(c.key) != 0 {
			names = append(names, m)
		}
	}
	return strings.Join(append(names, c.key.Key), "+")
}

// IsOneKey reports whether nothing is held with the key.
func (c *Chord) IsOneKey() bool { return len(c.modifiers) == 0 }

// LetGo lets all buttons and keys go that are held.
func (in *Input) LetGo(ctx context.Context) error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	at := in.Pointer()
	if in.held.release != nil {
		keep(in.letLeftGo(ctx, at))
	}
	for _, b := range []Button{MiddleButton, RightButton} {
		if in.IsDown(b) {
			in.held.buttons &^= bits[b]
			keep(in.await(ctx, "releasing a button", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseReleased, at: at, of: b, count: 1})))
		}
	}
	for len(in.held.keys) > 0 {
		keep(in.letKeyGo(ctx, &Chord{key: in.held.keys[len(in.held.keys)-1]}))
	}
	return first
}
