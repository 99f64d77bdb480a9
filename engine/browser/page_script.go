package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"troupe/engine/mask"
)

// PageScript is the page script in a tab's current document, in a world of its own.
type PageScript struct {
	tab *Tab

	mu    sync.Mutex
	world int64 // our world in the current document; zero: make it
	hands bool  // it has got them
}

// worldName is how our world is called in the browser's own tools.
const worldName = "troupe"

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
}

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
	if !ps.tab.Navigation.asked.Load() {
		r, err := ps.run(ctx, call+",true)")
		if err != nil || !ps.tab.Navigation.asked.Load() {
			return r, err
		}
	}
	r, err := ps.run(ctx, call+")")
	if err == nil && ps.tab.Navigation.leavesLate(ctx) {
		r, err = ps.run(ctx, call+")")
	}
	if err == nil {
		ps.tab.Navigation.asked.Store(false)
	}
	return r, err
}

// CallOnArrival is Call for functions that wait for a page to load. If the page
// has asked to leave by then, it follows and calls in the next document: a
// redirect by script may begin before the page script is there to see it.
func (ps *PageScript) CallOnArrival(ctx context.Context, fn string, arg any) (*Reply, error) {
	for {
		r, err := ps.Call(ctx, fn, arg)
		if err != nil || !ps.tab.Navigation.asked.Swap(false) {
			return r, err
		}
		if err := ps.awaitLeave(ctx); err != nil {
			return nil, err
		}
	}
}

// catchUp is what comes before the first call into a document in which scripts of
// the task may have run before the page script was there: they may have sent the
// page elsewhere, or moved what is in it.
func (ps *PageScript) catchUp(ctx context.Context) error {
	if !ps.tab.Navigation.takeBare() {
		return nil
	}
	_, err := ps.CallOnArrival(ctx, "late", map[string]any{"settle": true})
	return err
}

func (ps *PageScript) run(ctx context.Context, expr string) (*Reply, error) {
	if err := ps.catchUp(ctx); err != nil {
		return nil, err
	}
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
	world := ps.world
	ps.mu.Unlock()
	if world != 0 {
		ps.tab.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: object + "." + call, ContextID: runtime.ExecutionContextID(world)})
	}
}

// awaitLeave waits until the page has gone to its new document or stays after all.
// The browser says that it loads before it answers the call that saw the page
// leave, so a page that does not load any more has stayed.
func (ps *PageScript) awaitLeave(ctx context.Context) error {
	loading, stopped := ps.tab.Navigation.state()
	if loading {
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

// evaluate runs an expression in our world. What it gives is JSON in a string,
// which is decoded into out unless that is nil.
func (ps *PageScript) evaluate(ctx context.Context, expr string, out any) error {
	return ps.evaluateAs(ctx, expr, false, out)
}

// evaluateAs is evaluate where the browser may take it for something that a person
// does.
func (ps *PageScript) evaluateAs(ctx context.Context, expr string, person bool, out any) error {
	world, err := ps.enter(ctx)
	if err != nil {
		return err
	}
	if handy.MatchString(expr) {
		ps.giveHands(world)
		ps.tab.context.handles()
	}
	yes := true
	var res struct {
		Result struct {
			Value jsonv2.Value `json:"value"`
		} `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	call := ps.tab.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: expr, ContextID: runtime.ExecutionContextID(world), AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &person,
	})
	if err := call.wait(ctx, &res); err != nil {
		if replaced(err) {
			ps.mu.Lock()
			if ps.world == world {
				ps.world = 0
			}
			ps.mu.Unlock()
			return ErrNewDocument
		}
		return err
	}
	if res.Exception != nil {
		text := exceptionText(ps.tab.context.clean, res.Exception).String()
		if strings.Contains(text, object+" is not defined") {
			ps.forget()
			return ErrNewDocument
		}
		return fmt.Errorf("running the page script: %s", text)
	}
	if len(res.Result.Value) == 0 || out == nil {
		return nil
	}
	return readReply(call, res.Result.Value, out)
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

// enter returns our world in the current document and installs the page script
// where it is not there yet.
func (ps *PageScript) enter(ctx context.Context) (int64, error) {
	ps.mu.Lock()
	world := ps.world
	ps.mu.Unlock()
	if world != 0 {
		return world, nil
	}
	var made page.CreateIsolatedWorldResult
	p := page.CreateIsolatedWorldParams{FrameID: ps.tab.mainFrame(), WorldName: worldName}
	if err := ps.tab.s.call(ctx, page.CommandCreateIsolatedWorld, p, &made); err != nil {
		if replaced(err) {
			return 0, ErrNewDocument
		}
		return 0, err
	}
	world = int64(made.ExecutionContextID)
	// It is not waited for: the next call into the world comes after it. It is sent
	// as it always is, and not as part of the first call: the browser has compiled
	// these very bytes before.
	ps.install(world, ground)
	ps.mu.Lock()
	ps.world, ps.hands = world, false
	ps.mu.Unlock()
	return world, nil
}

// install sends a part of the page script without waiting for it.
func (ps *PageScript) install(world int64, part string) {
	ps.tab.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: part, ContextID: runtime.ExecutionContextID(world)})
}

// giveHands sends the hands, and the guard's way to tell, to a document that has
// not got them yet.
func (ps *PageScript) giveHands(world int64) {
	ps.mu.Lock()
	has := ps.hands && ps.world == world
	if ps.world == world {
		ps.hands = true
	}
	ps.mu.Unlock()
	if !has {
		ps.tab.s.send(runtime.CommandAddBinding, runtime.AddBindingParams{Name: tellBinding, ExecutionContextName: worldName})
		ps.install(world, hands)
	}
}

// forget drops our world: the next call makes it anew.
func (ps *PageScript) forget() {
	ps.mu.Lock()
	ps.world = 0
	ps.mu.Unlock()
}

// chosen is the element that the page script has chosen in the call before;
// empty when its document is gone.
func (ps *PageScript) chosen(ctx context.Context) (runtime.RemoteObjectID, error) {
	world, err := ps.enter(ctx)
	if err != nil {
		return "", err
	}
	var handle struct {
		Result runtime.RemoteObject `json:"result"`
	}
	err = ps.tab.s.call(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: object + ".element()", ContextID: runtime.ExecutionContextID(world),
	}, &handle)
	if err != nil && !replaced(err) {
		return "", err
	}
	return handle.Result.ObjectID, nil
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
