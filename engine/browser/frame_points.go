package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// frameElement is the element that a frame is in, in our world of its document.
type frameElement struct {
	in world
	id runtime.RemoteObjectID
}

// Aim is a place in a frame where input may go, and what may be done there.
type Aim struct {
	Points []Point // to be tried in this order
	Guard  int     // presses that must not reach anything else; zero: none is guarded
	Box    *Box    // what is to be seen
}

// Seen is what has become of an aim on its way to the main page.
type Seen struct {
	Points  []Point `json:"points"`
	Box     *Box    `json:"box"`
	Covered string  `json:"covered"` // by this, in a document around the frame
	Why     string  `json:"e"`       // the frame's element cannot be used now
	Leaving bool    `json:"n"`
}

// IsMain reports whether the script is that of the tab's main frame, whose points are
// those of the page.
func (ps *PageScript) IsMain() bool { return ps.parent == nil }

// In reports whether the script is in one of a tab's frames.
func (ps *PageScript) In(t *Tab) bool { return ps.tab == t }

// Outward takes an aim from the frame to the main page: through each document around
// it, where the frame is scrolled into view and must stand still and be free.
func (ps *PageScript) Outward(ctx context.Context, a Aim) (Seen, error) {
	var s Seen
	for s.Points, s.Box = a.Points, a.Box; ps.parent != nil; ps = ps.parent {
		arg := map[string]any{"points": s.Points, "box": s.Box, "guard": a.Guard}
		s = Seen{}
		if err := ps.askOwner(ctx, "outward", arg, &s); err != nil {
			return s, err
		}
		if s.Leaving {
			return s, ErrFrameLost
		}
		if s.Covered != "" || s.Why != "" {
			break
		}
	}
	return s, nil
}

// maxFocus is how long keys wait for a frame to get the focus.
const maxFocus = 100 * time.Millisecond

// TakesKeys waits until the browser sends keys into the frame, after something in it has
// got the focus, and reports whether it does. The browser moves the focus to the main
// frame whenever a frame of the page comes into a process of its own; and a document
// around the frame may take it back. Where the frame is lost the next call finds out.
func (ps *PageScript) TakesKeys(ctx context.Context) bool {
	for ; ps.parent != nil; ps = ps.parent {
		if ps.session() == ps.parent.session() {
			continue // one process knows at once
		}
		var r struct {
			Focused bool `json:"v"`
		}
		if err := ps.askOwner(ctx, "keysInto", map[string]any{"ms": maxFocus.Milliseconds()}, &r); err != nil {
			return true
		}
		if !r.Focused {
			return false
		}
	}
	return true
}

// Unguard ends the guards of the documents around a frame.
func (ps *PageScript) Unguard() {
	for ps = ps.parent; ps != nil; ps = ps.parent {
		ps.Tell("unguard()")
	}
}

// askOwner calls a function of the page script that has the frame's element, with that
// and an argument.
func (ps *PageScript) askOwner(ctx context.Context, fn string, arg, out any) error {
	b, err := json.Marshal(arg)
	if err != nil {
		return fmt.Errorf("encoding the argument of %s: %w", fn, err)
	}
	owner, err := ps.ownerElement(ctx)
	if err != nil {
		return err
	}
	ps.parent.give(owner.in, actions)
	ps.parent.give(owner.in, moreActions)
	yes := true
	call := owner.in.s.send(runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: "function(a){return " + object + "." + fn + "(this,a)}", ObjectID: owner.id,
		Arguments: []*runtime.CallArgument{{Value: b}}, AwaitPromise: &yes, ReturnByValue: &yes,
	})
	err = ps.parent.answer(ctx, owner.in, call, out)
	if errors.Is(err, ErrNewDocument) {
		return ErrFrameLost
	}
	return err
}

// ownerElement is the element that the frame is in.
func (ps *PageScript) ownerElement(ctx context.Context) (frameElement, error) {
	in, err := ps.parent.enter(ctx)
	if err != nil {
		return frameElement{}, ps.gone(err)
	}
	ps.mu.Lock()
	known := ps.owner
	ps.mu.Unlock()
	if known.in == in {
		return known, nil
	}
	var owner dom.GetFrameOwnerResult
	if err := in.s.call(ctx, dom.CommandGetFrameOwner, dom.GetFrameOwnerParams{FrameID: ps.frame}, &owner); err != nil {
		return frameElement{}, ps.gone(err)
	}
	var node dom.ResolveNodeResult
	if err := in.s.call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: owner.BackendNodeID, ExecutionContextID: in.id}, &node); err != nil {
		return frameElement{}, ps.gone(err)
	}
	known = frameElement{in, node.Object.ObjectID}
	ps.mu.Lock()
	ps.owner = known
	ps.mu.Unlock()
	return known, nil
}
