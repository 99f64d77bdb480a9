package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/chromedp/cdproto/runtime"

	"troupe/engine/mask"
)

// ForeignFrame says that a frame shows a site that the pages of the context may not be from.
// Nothing in it is read, and nothing is sent to it.
type ForeignFrame struct{ Address mask.Text }

func (e *ForeignFrame) Error() string { return "the frame shows " + e.Address.String() }

// IsForeign reports whether something failed because a frame shows another site.
func IsForeign(err error) bool {
	var f *ForeignFrame
	return errors.As(err, &f)
}

// admission is what was found out about a document, and by how many lists of sites.
type admission struct {
	at    world
	lists int
	no    *ForeignFrame
}

// admitted refuses a document in a frame that the sites of the context do not allow. All
// ways into frames of other origins go through our world in their documents, so they are
// compared there: the site of a document never changes.
func (ps *PageScript) admitted(ctx context.Context, at world) error {
	lists := ps.tab.context.Sites.count()
	if lists == 0 || ps.parent == nil {
		return nil
	}
	ps.mu.Lock()
	known := ps.admission
	ps.mu.Unlock()
	if known.at != at || known.lists != lists {
		no, err := ps.compare(ctx, at)
		if err != nil {
			return err
		}
		known = admission{at, lists, no}
		ps.mu.Lock()
		ps.admission = known
		ps.mu.Unlock()
	}
	if known.no != nil {
		return known.no
	}
	return nil
}

// compare asks a document where it is from. Where its address does not tell, its origin
// does, or that of the document around it, which alone can have written into it. Nobody
// knows who has written what a data: address shows.
func (ps *PageScript) compare(ctx context.Context, at world) (*ForeignFrame, error) {
	var is struct {
		Address string `json:"address"`
		Origin  string `json:"origin"`
	}
	yes := true
	call := at.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "JSON.stringify({address:location.href,origin:origin})", ContextID: at.id, ReturnByValue: &yes})
	if err := ps.answer(ctx, at, call, &is); err != nil {
		return nil, err
	}
	switch scheme, _, _ := strings.Cut(is.Address, ":"); {
	case WebOrigin(strings.TrimPrefix(is.Address, "blob:")) != "":
		if ps.tab.context.Sites.Allow(is.Address) {
			return nil, nil
		}
	case scheme == "about" && WebOrigin(is.Origin) != "":
		if ps.tab.context.Sites.Allow(is.Origin) {
			return nil, nil
		}
		is.Address = is.Origin
	case scheme == "about":
		_, err := ps.parent.enter(ctx)
		var no *ForeignFrame
		if errors.As(err, &no) {
			return no, nil
		}
		return nil, err
	case scheme == "chrome-error": // the browser's own
		return nil, nil
	}
	return &ForeignFrame{ps.tab.context.clean(is.Address).Short(200)}, nil
}

// maxWays bounds how many frames in frames are looked through for where input goes.
const maxWays = 20

// KeysMayGo refuses keys that would go into a frame of a site that the context's pages may
// not be from, because something in it has the focus.
func (in *Input) KeysMayGo(ctx context.Context) error {
	return in.mayGo(ctx, "keysGo", map[string]any{})
}

// PointMayGo refuses a place in the main page where the pointer is over such a frame.
func (in *Input) PointMayGo(ctx context.Context, p Point) error {
	return in.mayGo(ctx, "pointerGoes", map[string]any{"point": p})
}

// mayGo asks each document, from the main page on, into which frame of another origin
// input goes.
func (in *Input) mayGo(ctx context.Context, fn string, arg map[string]any) error {
	if in.tab.context.Sites.count() == 0 {
		return nil
	}
	_, err := in.leadsTo(ctx, fn, arg)
	return err
}

// leadsTo gives the script of the frame where input goes in the end, also where frames are
// replaced on the way.
func (in *Input) leadsTo(ctx context.Context, fn string, arg map[string]any) (*PageScript, error) {
	for lost := 0; ; lost++ {
		at, err := in.follow(ctx, fn, arg)
		if !errors.Is(err, ErrFrameLost) || lost >= fewLost {
			return at, err
		}
		if err := pause(ctx, lookAgain); err != nil {
			return nil, err
		}
	}
}

// goesInto is the frame of another origin that input goes into, as a page script says it.
type goesInto struct {
	Frame int    `json:"frame"` // by its number; zero: into none
	Other bool   `json:"other"` // an element that need not have a frame
	Point *Point `json:"point"` // in that
}

func (in *Input) follow(ctx context.Context, fn string, arg map[string]any) (*PageScript, error) {
	at := &in.tab.Script
	for range maxWays {
		r, err := at.Call(ctx, fn, arg)
		if err == nil && r.Hop != nil && r.Hop.Closed {
			if _, err = at.openRootsSoon(ctx); err != nil {
				return nil, err
			}
			arg = maps.Clone(arg)
			arg["opened"] = true
			r, err = at.Call(ctx, fn, arg)
		}
		if err != nil {
			return nil, err
		}
		var into goesInto
		if err := json.Unmarshal(r.Value, &into); err != nil {
			return nil, fmt.Errorf("reading where input goes: %w", err)
		}
		if into.Frame == 0 {
			return at, nil
		}
		next, err := at.child(ctx, into.Frame)
		if into.Other && errors.Is(err, ErrFrameLost) {
			return at, nil // a picture, for example
		}
		if err != nil {
			return nil, err
		}
		if _, err := next.enter(ctx); err != nil {
			return nil, err
		}
		at, arg = next, maps.Clone(arg)
		delete(arg, "opened") // nobody has opened those of this document
		if into.Point != nil {
			arg["point"] = *into.Point
		}
	}
	return nil, &ForeignFrame{in.tab.context.clean("something in too many frames")}
}
