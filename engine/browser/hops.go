package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
)

// Part is one step of the way to a frame, as the page script takes it: a selector of
// its element, or its address.
type Part struct {
	Kind  string            `json:"k,omitempty"`
	Sel   any               `json:"s,omitempty"` // a string, or what a person perceives of it
	Ref   string            `json:"r,omitempty"`
	As    string            `json:"a"`           // how the client wrote it, for people
	ByURL bool              `json:"u,omitempty"` // only the browser knows the addresses of all frames
	URL   func(string) bool `json:"-"`           // whether an address is the one
}

// Question is what a page script is asked, and where.
type Question interface {
	// Arg is what is asked, in the time that is left, and how much that is: none where
	// the question is to be answered at once.
	Arg() (arg map[string]any, left time.Duration)
	// Place is the way from the document at hand to the frame that the question is about.
	Place() []Part
	// Ways are those of all that is asked.
	Ways() [][]Part
	// Below is the same question, for the document that the first parts lead to.
	Below(parts int) Question
	// Hurry says that the first answer may come before the page has settled: see Query.
	Hurry() bool
	// Next are the frames that are asked for soon, where only the browser knows which
	// those are.
	Next() []Part
}

// Hop says that a place leads into a frame of another origin: through how many parts,
// and into which frame, by the page script's number for it.
type Hop struct {
	Parts int   `json:"k"`
	Frame int   `json:"n"`    // zero: the page script's own
	ByURL bool  `json:"u"`    // the next part is the address of a frame in that
	Lost  []int `json:"lost"` // the next part matches nothing here: it may match in these frames
	// Closed says that what is looked for may be in a closed shadow root.
	Closed bool `json:"closed"`
	// Common says that the document lacks the common part of the page script.
	Common bool `json:"common"`
}

const (
	// lookAgain is how long nothing is asked while a frame is missing, and lookSeldom
	// how long that gets where many frames have to be looked through.
	lookAgain  = 50 * time.Millisecond
	lookSeldom = 400 * time.Millisecond
	// fewLost is how often a frame may be replaced once the time is over.
	fewLost = 5
)

// Found is where a question was answered: by which script, and the rest of its place
// from there.
type Found struct {
	Script *PageScript
	Place  []Part
}

// Ask calls a function of the page script where the question's place leads to, and
// returns where that is. On its way it goes from each document into the frames of other
// origins, whichever process they are in.
func (t *Tab) Ask(ctx context.Context, fn string, q Question) (*Reply, Found, error) {
	for lost := 0; ; lost++ {
		r, found, err := t.follow(ctx, fn, q)
		if !errors.Is(err, ErrFrameLost) {
			return r, found, err
		}
		if _, left := q.Arg(); left <= 0 && lost >= fewLost {
			return nil, Found{}, err
		}
		if lost > 0 {
			if err := pause(ctx, lookAgain); err != nil {
				return nil, Found{}, err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *Tab) follow(ctx context.Context, fn string, q Question) (*Reply, Found, error) {
	at, hurry, rest := &t.Script, q.Hurry(), lookAgain
	for {
		if err := at.awaitWay(ctx, q.Ways()); err != nil {
			return nil, Found{}, err
		}
		arg, left := q.Arg()
		ask := at.Call
		if hurry && at.parent == nil {
			ask = at.Query
		}
		r, err := ask(ctx, fn, arg)
		if err != nil || r.Hop == nil {
			return r, Found{at, q.Place()}, err
		}
		if r.Hop.Closed {
			// Once the time is over it is asked for once more, and then told as missing.
			opened, err := at.openRootsSoon(ctx)
			if err != nil {
				return nil, Found{}, err
			}
			if arg["opened"] = true; opened && left > 0 {
				delete(arg, "opened")
			}
			continue
		}
		next, parts, why, err := t.hop(ctx, at, q, r.Hop)
		switch {
		case err != nil:
			return nil, Found{}, err
		case next != nil:
			if next.moves.leaving() { // the browser has found it by itself
				if err := at.awaitDeparture(ctx, next.frame, next.moves); err != nil {
					return nil, Found{}, err
				}
				continue
			}
			at, q = next, q.Below(parts)
			continue
		case left <= 0: // the script says what is wrong, or, of what it looks for once, that it is not there
			arg["alone"] = why
			r, err := at.Call(ctx, fn, arg)
			return r, Found{at, q.Place()}, err
		}
		if len(r.Hop.Lost) > 0 {
			rest = min(rest*3/2, lookSeldom)
		}
		if err := pause(ctx, min(left, rest)); err != nil {
			return nil, Found{}, err
		}
	}
}

// hop finds the frame that a hop leads into, nil where it is not there yet, with why in
// words.
func (t *Tab) hop(ctx context.Context, at *PageScript, q Question, h *Hop) (next *PageScript, parts int, why string, err error) {
	place := q.Place()
	if h.Parts > len(place) || (h.ByURL || len(h.Lost) > 0) && h.Parts == len(place) || h.ByURL && place[h.Parts].URL == nil {
		return nil, 0, "", fmt.Errorf("reading the page's answer: it went through %d of %d frames", h.Parts, len(place))
	}
	switch {
	case len(h.Lost) > 0:
		next, err = t.seek(ctx, at, place[h.Parts], h.Lost)
		return next, h.Parts, fmt.Sprintf("Iframe not found: nothing matches %q", place[h.Parts].As), err
	case h.ByURL:
		next, why, err = t.byURL(ctx, at, h.Frame, place[h.Parts], q.Next)
		return next, h.Parts + 1, why, err
	}
	next, err = at.child(ctx, h.Frame)
	return next, h.Parts, "", err
}

// child is the page script of a frame that this one has come upon.
func (ps *PageScript) child(ctx context.Context, number int) (*PageScript, error) {
	ps.mu.Lock()
	known := ps.below[number]
	ps.mu.Unlock()
	if known != nil {
		return known, nil
	}
	id, err := ps.frameNumbered(ctx, number)
	if err != nil {
		return nil, err
	}
	if err := ps.tab.remote.attach(ctx); err != nil {
		return nil, err
	}
	next := ps.tab.remote.script(id, ps)
	ps.mu.Lock()
	if ps.below == nil {
		ps.below = map[int]*PageScript{}
	}
	ps.below[number] = next
	ps.mu.Unlock()
	return next, nil
}

// frameNumbered is the frame that the page script has given a number.
func (ps *PageScript) frameNumbered(ctx context.Context, number int) (cdp.FrameID, error) {
	at, err := ps.enter(ctx)
	if err != nil {
		return "", ps.gone(err)
	}
	var handle struct {
		Result runtime.RemoteObject `json:"result"`
	}
	err = at.s.call(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{Expression: fmt.Sprintf("%s.numbered(%d)", object, number), ContextID: at.id}, &handle)
	if err != nil {
		return "", ps.gone(err)
	}
	if handle.Result.ObjectID == "" {
		return "", ErrFrameLost
	}
	id, err := frameOf(ctx, at.s, handle.Result.ObjectID)
	if err != nil {
		return "", ps.gone(err)
	}
	if id == "" {
		return "", ErrFrameLost
	}
	return id, nil
}

// gone is lost for a look at one document: if that is gone, the way begins anew.
func (ps *PageScript) gone(err error) error {
	if err = ps.lost(err); errors.Is(err, ErrNewDocument) {
		return ErrFrameLost
	}
	return err
}
