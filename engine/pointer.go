package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// pointer takes a run's pointer to elements: it finds where they are, moves there
// and clicks.
type pointer struct{ run *Run }

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
func (pt *pointer) aim(ctx context.Context, s *Step, fn string, v lang.Selector, arg map[string]any) (p spot, err error) {
	guard := 0
	if arg["guard"] == true {
		guard = 1
	}
	seen, err := pt.inPage(ctx, v.String(), arg["force"] == true, func() (a browser.Aim, err error) {
		if p, err = pt.locate(ctx, s, fn, v, arg); err != nil || p.Done {
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

func (pt *pointer) locate(ctx context.Context, s *Step, fn string, v lang.Selector, arg map[string]any) (p spot, err error) {
	r := pt.run
	if err := r.page.ask(ctx, s, fn, v, arg, &p); err != nil || !p.Aside {
		return p, err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return p, err
	}
	aside, err := pt.pointInPage(ctx, p.Point)
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
func (pt *pointer) click(ctx context.Context, s *Step, v lang.Selector, how browser.Clicking) error {
	how.Held = own[*browser.Chord](s, "modifiers", nil)
	return pt.clickAt(ctx, s, v, how, func(again bool) (spot, error) {
		arg := map[string]any{"force": own(s, "force", true), "guard": true, "times": how.Times, "again": again}
		if at := placed(s, "at"); at != nil {
			arg["at"] = at
		}
		return pt.aim(ctx, s, "point", v, arg)
	}, func(in *browser.Input, ctx context.Context, p browser.Point) error {
		return in.ClickAs(ctx, p, how)
	})
}

// clickAt clicks where look says, or through the DOM where that is allowed and
// the only way. A page that moves between the look and the click is looked at
// again: the page script keeps a click that would hit something else from it. What
// stands in the place of an element that was drawn anew is clicked for it.
func (pt *pointer) clickAt(ctx context.Context, s *Step, v lang.Selector, how browser.Clicking, look func(again bool) (spot, error), press func(*browser.Input, context.Context, browser.Point) error) error {
	r := pt.run
	for again := false; ; again = true {
		p, err := look(again)
		if err != nil || p.Done {
			return err
		}
		r.page.input = sentAct
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return err
		}
		if p.Covered != "" {
			r.warn("%q is covered by %s: clicked through the DOM", v.String(), p.Covered)
			err := r.page.ask(ctx, s, "clickByScript", v, map[string]any{"times": max(1, how.Times), "right": how.Button == browser.RightButton, "held": how.Held.Mask() | t.Input.Modifiers()}, nil)
			r.page.input = sentAct
			if how.OpensTabsWith(&t.Input) {
				r.page.at.Expecting(ctx)
			}
			return err
		}
		t.Input.Aim()
		if err := press(&t.Input, ctx, p.Point); err != nil {
			return err
		}
		hit := t.Input.Hit(ctx)
		r.page.at.Unguard()
		if hit && how.OpensTabsWith(&t.Input) {
			r.page.at.Expecting(ctx)
		}
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

// hoverSpot is where the pointer must go to be over an element.
func (pt *pointer) hoverSpot(ctx context.Context, s *Step, v lang.Selector) (spot, error) {
	p, err := pt.aim(ctx, s, "point", v, map[string]any{"hover": true, "force": true})
	if err == nil && p.Covered != "" {
		pt.run.warn("%q is covered by %s: the pointer is over that", v.String(), p.Covered)
	}
	if err == nil {
		err = pt.mayGo(ctx, p.Point)
	}
	return p, err
}

// mayGo refuses a point that lies in a frame of a site that is not the task's.
func (pt *pointer) mayGo(ctx context.Context, p browser.Point) error {
	t, err := pt.run.tabs.Tab(ctx)
	if err != nil {
		return err
	}
	return t.Input.PointMayGo(ctx, p)
}

// moveLikeHand moves the pointer from where it is to a point.
func (pt *pointer) moveLikeHand(ctx context.Context, to browser.Point, fast bool) error {
	r := pt.run
	t, err := r.page.tab(ctx)
	if err != nil {
		return err
	}
	w, h := r.tabs.Size()
	var b [8]byte
	rand.Read(b[:])
	seed := binary.LittleEndian.Uint64(b[:])
	from := t.Input.Pointer()
	if fast {
		from = closer(from, to, seed, float64(w), float64(h))
	}
	for _, m := range handPath(from, to, seed, float64(w), float64(h)) {
		if err := t.Input.Move(ctx, m.Point); err != nil {
			return err
		}
		select {
		case <-time.After(m.Pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
