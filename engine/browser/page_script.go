package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"troupe/engine/mask"
)

// PageScript is the page script in a frame's current document, in a world of its own:
// in the tab's main frame, or in one of another origin. It reaches all frames of its
// document's origin by itself.
type PageScript struct {
	tab    *Tab
	moves  *moves
	frame  cdp.FrameID // empty: the main frame
	parent *PageScript // the one that reaches the frame's element; nil: this is the main frame

	mu        sync.Mutex
	at        world               // ours in the current document; zero: make it
	has       map[*part]bool      // which parts of the page script that has got
	below     map[int]*PageScript // those of frames that it has come upon, by its number for them
	owner     frameElement        // of the frame, in the world of parent
	prepared  *preparation        // nil: our world is not being made ahead
	admission admission           // of the latest document that was compared with the sites
}

// ErrNewDocument says that the document was replaced while a call ran in it.
var ErrNewDocument = errors.New("the document was replaced")

// Reply is the page side's answer to a call: a value, or why there is none.
type Reply struct {
	Value    jsonv2.Value `json:"v"`
	Code     string       `json:"c"`
	Error    string       `json:"e"`
	Warnings []string     `json:"w"`
	// Leaving says that the page is on its way to another document, so that
	// nothing was done yet.
	Leaving bool `json:"n"`
	// Hop says that the place that was asked about is in a frame of another origin, and
	// Elsewhere what to say once those were looked through.
	Hop       *Hop   `json:"x"`
	Elsewhere string `json:"o"`
	// Foreign says that those may also be in frames of other origins.
	Foreign bool `json:"f"`
	// Gone says which reference of a snapshot is good for nothing any more.
	Gone *GoneReference `json:"g"`
}

// GoneReference is a reference whose element is gone, and what it was where the
// document knows that.
type GoneReference struct {
	Number int    `json:"n"`
	Role   string `json:"role"`
	Name   string `json:"name"`
}

// ErrFrameLost says that a frame of another origin has gone, or has become another's,
// while it was asked for something.
var ErrFrameLost = errors.New("the frame was replaced")

// Call runs a function of the page script with one argument and returns its reply.
// If the document is replaced, it starts over in the new one, until ctx ends.
func (ps *PageScript) Call(ctx context.Context, fn string, arg any) (*Reply, error) {
	b, err := json.Marshal(arg)
	if err != nil {
		return nil, fmt.Errorf("encoding the argument of %s: %w", fn, err)
	}
	return ps.run(ctx, object+".run('"+fn+"',"+string(b)+")")
}

// Query is Call for a function that changes nothing. If the argument asks to let
// the page settle first, Query calls at once all the same, and calls again, with
// settling, only if the browser has reported that the page was asked to leave.
func (ps *PageScript) Query(ctx context.Context, fn string, arg any) (*Reply, error) {
	b, err := json.Marshal(arg)
	if err != nil {
		return nil, fmt.Errorf("encoding the argument of %s: %w", fn, err)
	}
	call := object + ".run('" + fn + "'," + string(b)
	if !ps.moves.asked.Load() {
		r, err := ps.run(ctx, call+",true)")
		if err != nil || !ps.moves.asked.Load() {
			return r, err
		}
	}
	r, err := ps.run(ctx, call+")")
	if err == nil && ps.leavesLate(ctx) {
		r, err = ps.run(ctx, call+")")
	}
	if err == nil {
		ps.moves.asked.Store(false)
	}
	return r, err
}

// CallOnArrival is Call for functions that wait for a page to load. If the page
// has asked to leave by then, it follows and calls in the next document: a
// redirect by script may begin before the page script is there to see it.
func (ps *PageScript) CallOnArrival(ctx context.Context, fn string, arg any) (*Reply, error) {
	for {
		r, err := ps.Call(ctx, fn, arg)
		if err != nil || !ps.moves.asked.Swap(false) {
			return r, err
		}
		if err := ps.awaitLeave(ctx); err != nil {
			return nil, err
		}
	}
}

func (ps *PageScript) run(ctx context.Context, expr string) (*Reply, error) {
	for {
		r := new(Reply)
		err := ps.evaluate(ctx, expr, r)
		switch {
		case errors.Is(err, ErrNewDocument):
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue
		case err != nil:
			return nil, err
		case r.Hop != nil && r.Hop.Common:
			ps.mu.Lock()
			at := ps.at
			ps.mu.Unlock()
			if at.s != nil {
				ps.give(at, common)
			}
			continue
		case !r.Leaving:
			return r, nil
		}
		// The new document begins (our world is gone then), or the navigation
		// came to nothing: a download, or an answer without content.
		if err := ps.awaitLeave(ctx); err != nil {
			return nil, err
		}
	}
}

// Tell calls a function of the page script without waiting, if the current
// document has the script. Later calls come after it.
func (ps *PageScript) Tell(call string) {
	ps.mu.Lock()
	at := ps.at
	ps.mu.Unlock()
	if at.s != nil {
		at.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: object + "." + call, ContextID: at.id})
	}
}

// awaitLeave waits until the page has gone to its new document or stays after all. Where
// the load of the one before has ended between the page's asking and the browser's
// beginning, there is nothing to see for a moment.
func (ps *PageScript) awaitLeave(ctx context.Context) error {
	loading, stopped := ps.moves.state()
	if loading || ps.startsLate(ctx) {
		gone := make(chan error, 1)
		wctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { gone <- ps.evaluate(wctx, object+".never()", nil) }() // ends with the document
		select {
		case err := <-gone:
			if errors.Is(err, ErrNewDocument) {
				return nil
			}
			return err
		case <-stopped:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := ps.evaluate(ctx, object+".stay()", nil)
	if errors.Is(err, ErrNewDocument) {
		return nil
	}
	return err
}

// leavesLate reports whether a page that was asked to leave since it was last looked at, and has
// answered before it began to, begins to after all.
func (ps *PageScript) leavesLate(ctx context.Context) bool {
	return ps.moves.asked.Load() && ps.startsLate(ctx)
}

// startsLate reports whether a page that was asked to leave, and has not begun to, begins to
// after all. A busy machine draws late, and the browser puts off what a page has begun until it
// is drawn.
func (ps *PageScript) startsLate(ctx context.Context) bool {
	return ps.moves.startsLate(ctx, ps.tab.closed, func() {
		ctx, cancel := context.WithTimeout(ctx, drawnLate)
		defer cancel()
		_ = ps.evaluate(ctx, object+".run('drawn',{})", nil) // one that has gone has begun
		_ = ps.tab.context.b.root.call(ctx, browser.CommandGetVersion, nil, nil)
	})
}

// drawnLate bounds how long the drawing of a page that was asked to leave is waited for.
const drawnLate = 4 * time.Second

// evaluate runs an expression in our world. What it gives is JSON in a string,
// which is decoded into out unless that is nil.
func (ps *PageScript) evaluate(ctx context.Context, expr string, out any) error {
	return ps.evaluateAs(ctx, expr, false, out)
}

// evaluateAs is evaluate where the browser may take it for something that a person
// does.
func (ps *PageScript) evaluateAs(ctx context.Context, expr string, person bool, out any) error {
	at, err := ps.enter(ctx)
	if err != nil {
		return err
	}
	need := needsOf(expr)
	if need.arrival {
		ps.give(at, arrival)
	}
	if need.common {
		ps.give(at, common)
	}
	if need.actions {
		ps.give(at, actions)
		ps.tab.context.handles()
	}
	if need.moreActions {
		ps.give(at, moreActions)
	}
	if need.locators {
		ps.give(at, locators)
	}
	if need.readers {
		ps.give(at, readers)
	}
	if need.snapshots {
		ps.give(at, snapshots)
	}
	if need.focus {
		ps.tab.remote.takesFocus(at.s)
	}
	yes := true
	return ps.answer(ctx, at, at.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: expr, ContextID: at.id, AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &person,
	}), out)
}

// answer waits for what a call in our world gives.
func (ps *PageScript) answer(ctx context.Context, at world, call *pending, out any) error {
	var res struct {
		Result struct {
			Value jsonv2.Value `json:"value"`
		} `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	if err := call.wait(ctx, &res); err != nil {
		if err = ps.lost(err); errors.Is(err, ErrNewDocument) || errors.Is(err, ErrFrameLost) {
			ps.leave(at)
		}
		return err
	}
	if res.Exception != nil {
		text := exceptionText(ps.tab.context.clean, res.Exception).String()
		if strings.Contains(text, object+" is not defined") {
			ps.forget()
			return ps.lost(ErrNewDocument)
		}
		return fmt.Errorf("running the page script: %s", text)
	}
	if len(res.Result.Value) == 0 || out == nil {
		return nil
	}
	return readReply(call, res.Result.Value, out)
}

// lost tells a call that failed because its document or its frame is gone from others.
// The way to a frame of another origin begins in the main frame again: it may have
// become one of this origin, or be in another process.
func (ps *PageScript) lost(err error) error {
	if err == nil {
		return nil
	}
	gone := errors.Is(err, ErrNewDocument) || replaced(err)
	switch {
	case ps.parent == nil && gone:
		return ErrNewDocument
	case ps.parent == nil:
		return err
	case gone, strings.Contains(err.Error(), "Session with given id not found"), errors.Is(err, ErrDetached) && !closed(ps.tab.closed) && !ps.tab.Crashed():
		return ErrFrameLost
	}
	return err
}

// leave forgets our world, unless there is another by now.
func (ps *PageScript) leave(at world) {
	ps.mu.Lock()
	if ps.at == at {
		ps.at = world{}
	}
	ps.mu.Unlock()
}

// readReply decodes what the page script gave: JSON as the text of a JSON string.
func readReply(call *pending, value jsonv2.Value, out any) error {
	text, err := call.text(value)
	if err == nil {
		err = jsonv2.Unmarshal(text, out, decodeOptions)
	}
	if err != nil {
		return fmt.Errorf("reading the page's answer: %w", err)
	}
	return nil
}

// session is the one with the process that the frame is in.
func (ps *PageScript) session() *session {
	for ; ps.parent != nil; ps = ps.parent {
		if s := ps.tab.remote.of(ps.frame); s != nil {
			return s
		}
	}
	return ps.tab.s
}

// chosen is the element that the page script has chosen in the call before, and the
// session that knows it; empty when its document is gone.
func (ps *PageScript) chosen(ctx context.Context) (*session, runtime.RemoteObjectID, error) {
	at, err := ps.enter(ctx)
	if err != nil {
		return nil, "", err
	}
	var handle struct {
		Result runtime.RemoteObject `json:"result"`
	}
	err = at.s.call(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{Expression: object + ".element()", ContextID: at.id}, &handle)
	if err = ps.lost(err); err != nil && !errors.Is(err, ErrNewDocument) {
		return nil, "", err
	}
	return at.s, handle.Result.ObjectID, nil
}

// replaced reports whether a call failed because its document is gone. The
// browser has no codes for it, only these texts.
func replaced(err error) bool {
	var e *cdproto.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, text := range []string{
		"Cannot find context with specified id", "Execution context was destroyed", "Inspected target navigated or closed",
		"Promise was collected", "uniqueContextId not found", "Frame with the given id was not found", "No frame for given id found",
		"Could not create isolated world", "Cannot find default execution context", "Internal error: no frame",
	} {
		if strings.Contains(e.Message, text) {
			return true
		}
	}
	return false
}

// exceptionText is what a person wants to know of an exception: its first line.
func exceptionText(clean func(string) mask.Text, d *runtime.ExceptionDetails) mask.Text {
	text := d.Text
	if d.Exception != nil {
		switch {
		case d.Exception.Description != "":
			text = d.Exception.Description
		case len(d.Exception.Value) > 0:
			text = string(d.Exception.Value)
		}
	}
	return clean(text).FirstLine().Short(1000)
}
