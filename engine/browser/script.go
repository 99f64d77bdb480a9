package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"troupe/engine/mask"
)

// ScriptError is an exception of a script that a task runs in the page.
type ScriptError struct {
	Text mask.Text
	// Line and At are where the browser stopped to read a script that is none, from
	// 0 on and in characters of UTF-16. Line is -1 where the script ran.
	Line, At int
}

func (e *ScriptError) Error() string { return e.Text.String() }

// MaxReply bounds the reply to one call, in characters. The page script has the
// same number.
const MaxReply = 16 << 20

// ErrTooLong is the error of a script whose value is longer than that.
var ErrTooLong = errors.New("the script's value is too long")

// ErrNoFrameWorld says that a frame has no world to run a script in.
var ErrNoFrameWorld = errors.New("the frame has no document to run a script in")

// asJSON is JSON.stringify in a page that may have put functions of its own in its place, or
// toJSON on the prototypes of arrays, texts and numbers, as old libraries do. Where that is not
// ruled out, it needs nothing but the language: operators, spread and for-in. A list is what has
// a length that is its own and cannot be deleted. What the page's classes say of themselves by
// toJSON counts.
var asJSON = strings.Join(strings.Split(strings.TrimSpace(asJSONFile), "\n"), " ")

//go:embed js/asjson.js
var asJSONFile string

// scriptHead comes before a script to make it the body of a function. It is one line.
var scriptHead = "(async(asJSON,max,run,saved)=>{try{Object.freeze(saved)}catch{}" +
	"const s=asJSON(await run(saved));return s===undefined?'null':s.length>max?s.length:s})(" + asJSON + "," + strconv.Itoa(MaxReply) + ",async(saved)=>{"

// Evaluate runs a script as the body of an async function in the page's own world
// and returns its value as JSON. The script sees saved, a JSON object or nothing,
// as `saved`. With inFrame it runs in the frame that the page script has chosen, or
// that it is in itself.
func (ps *PageScript) Evaluate(ctx context.Context, script string, saved json.RawMessage, inFrame bool) (json.RawMessage, error) {
	b, err := ps.valueOf(ctx, script, saved, inFrame)
	return WellFormed(b), err
}

// valueOf is Evaluate with halves of characters as the page has them.
func (ps *PageScript) valueOf(ctx context.Context, script string, saved json.RawMessage, inFrame bool) (json.RawMessage, error) {
	s := ps.session()
	if len(saved) == 0 {
		saved = json.RawMessage("{}")
	}
	// The value is turned into JSON in the page, so that toJSON counts and
	// what is not JSON (undefined, a function) becomes null as JSON would.
	expr := scriptHead + script + "\n}," + string(saved) + ")"
	yes := true
	p := runtime.EvaluateParams{Expression: expr, AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &yes}
	if inFrame {
		at, err := ps.pageWorld(ctx)
		if err != nil {
			return nil, err
		}
		s, p.ContextID = at.s, at.id
	}
	var res struct {
		Result struct {
			Value jsonv2.Value `json:"value"`
		} `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	call := s.send(runtime.CommandEvaluate, p)
	err := call.wait(ctx, &res)
	if err != nil && !errors.Is(err, ErrLargeAnswer) {
		switch {
		case replaced(err), errors.Is(ps.lost(err), ErrFrameLost):
			return nil, ErrNewDocument
		case ctx.Err() != nil:
			s.send(runtime.CommandTerminateExecution, nil)
		}
		return nil, err
	}
	switch {
	case res.Exception != nil:
		failed := &ScriptError{Text: exceptionText(ps.tab.context.clean, res.Exception), Line: -1}
		if x := res.Exception; x.StackTrace == nil && strings.HasPrefix(failed.Error(), "SyntaxError") {
			failed.Line, failed.At = int(x.LineNumber), int(x.ColumnNumber)
			if failed.Line == 0 {
				failed.At -= len(scriptHead)
			}
		}
		return nil, failed
	case err != nil:
		return nil, ErrTooLong
	}
	// The page may have put something of its own in the place of promises.
	text, err := call.textAsItIs(res.Result.Value)
	var size float64
	switch {
	case err == nil && json.Valid(text):
		return json.RawMessage(text), nil
	case json.Unmarshal(res.Result.Value, &size) == nil && size > MaxReply:
		return nil, ErrTooLong
	}
	return nil, &ScriptError{Text: ps.tab.context.clean("the script's value could not be made into JSON in this page"), Line: -1}
}

// pageWorld finds the page's own world in the frame that the page script has chosen,
// or in its own frame where it has chosen none.
func (ps *PageScript) pageWorld(ctx context.Context) (world, error) {
	s, element, err := ps.chosen(ctx)
	if err != nil {
		return world{}, err
	}
	frame := ps.frame
	switch {
	case element != "":
		if frame, err = frameOf(ctx, s, element); err != nil {
			return world{}, ps.lost(err)
		}
	case ps.parent == nil:
		return world{}, ErrNoFrameWorld
	case ps.tab.remote.of(frame) == s:
		return world{s: s}, nil // its process knows no better
	}
	at, err := ps.tab.worldOf(ctx, s, frame)
	return at, ps.lost(err)
}

// frameOf is the frame in an element.
func frameOf(ctx context.Context, s *session, element runtime.RemoteObjectID) (cdp.FrameID, error) {
	var node dom.DescribeNodeResult
	if err := s.call(ctx, dom.CommandDescribeNode, dom.DescribeNodeParams{ObjectID: element}, &node); err != nil {
		return "", err
	}
	return node.Node.FrameID, nil
}

// worldOf finds the page's own world in a frame. Worlds are only reported while the
// Runtime domain is on, so it is switched on for as long as that takes.
func (t *Tab) worldOf(ctx context.Context, s *session, frame cdp.FrameID) (world, error) {
	l := t.context.logging()
	logged := l != nil && l.console
	worlds := make(chan runtime.EventExecutionContextCreated, 256)
	t.mu.Lock()
	t.worlds = worlds
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.worlds = nil
		t.mu.Unlock()
		if !logged {
			s.send(runtime.CommandDisable, nil)
		}
		t.replaying.Store(false)
	}()
	if logged {
		t.replaying.Store(true)
		s.send(runtime.CommandDisable, nil)
	}
	// Every world there is has been reported when the answer comes.
	if err := s.call(ctx, runtime.CommandEnable, nil, nil); err != nil {
		return world{}, err
	}
	for {
		select {
		case e := <-worlds:
			var aux struct {
				Frame   cdp.FrameID `json:"frameId"`
				Default bool        `json:"isDefault"`
			}
			if json.Unmarshal(e.Context.AuxData, &aux) == nil && aux.Default && aux.Frame == frame {
				return world{s, e.Context.ID}, nil
			}
		default:
			return world{}, ErrNoFrameWorld
		}
	}
}
