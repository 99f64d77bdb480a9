package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// pageCalls is how a run asks the page of its current tab.
type pageCalls struct {
	run    *Run
	input  sent         // since the page was last asked for anything
	acted  time.Time    // when it was first asked after the last input
	script bool         // a script ran, with the same effect
	frame  []lang.Frame // of the loop that runs

	over  *browser.Overtaking          // looks after a question that came right after input; nil: that is none
	at    *browser.PageScript          // what has answered last: the page's, or that of a frame of another origin
	place []browser.Part               // the way there
	rest  []browser.Part               // of it, from the document of that script
	told  []string                     // the page's warnings of the step that runs
	saved map[string][]lang.Frame      // in which frames elements were saved, by key
	found map[string][]browser.Part    // and the way to those that were found by a reference
	urls  map[string]func(string) bool // the patterns of addresses of frames
}

// call runs a function of the page script for a step and returns its value.
func (pc *pageCalls) call(ctx context.Context, s *Step, c Call) (Result, error) {
	for tabs := 1; ; tabs++ {
		again := aims[c.Fn] || reads[c.Fn]
		pc.over = nil
		if again && pc.input == sentAct {
			pc.over = new(browser.Overtaking)
		}
		res, err := pc.callOnce(ctx, s, c)
		if !again || !pc.closedUnder(err, tabs) && !pc.openedOver(tabs) {
			return res, err
		}
	}
}

// openedOver reports whether another tab has become the current one under a question that
// came right after input, so that it is meant for that.
func (pc *pageCalls) openedOver(tabs int) bool { return pc.over.Ended() && tabs < maxClosed }

// closedUnder reports whether a tab has closed itself under a question, so that
// the one that is current then can be asked: a window in which somebody signs in
// closes when it likes.
func (pc *pageCalls) closedUnder(err error, tabs int) bool {
	return errors.Is(err, browser.ErrDetached) && !pc.run.tabs.Crashed() && tabs < maxClosed
}

// maxClosed bounds how many tabs may close under one question.
const maxClosed = 4

func (pc *pageCalls) callOnce(ctx context.Context, s *Step, c Call) (Result, error) {
	tab, err := pc.tab(ctx)
	if err != nil {
		return nil, err
	}
	pc.over.Watch(tab)
	if again[c.Fn] && pc.at != nil {
		if c.Arg == nil {
			c.Arg = map[string]any{}
		}
		reply, err := pc.at.Call(ctx, c.Fn, c.Arg)
		if err != nil {
			return nil, err
		}
		return pc.replied(reply)
	}
	arg, err := pc.argument(s, c)
	if err != nil {
		return nil, err
	}
	if l := pc.run.blocks.elementLoop(); l != nil {
		arg["each"], arg["i"] = l.each, l.i
	}
	reply, err := pc.follow(ctx, tab, c.Fn, arg)
	if err != nil {
		return nil, err
	}
	pc.explain(ctx, tab, reply, arg["t"])
	pc.explainGone(ctx, tab, reply)
	return pc.replied(reply)
}

// again are the functions of the page script that go on with what it was asked last.
var again = map[string]bool{"drawn": true, "dragged": true, "put": true, "stands": true, "pasteText": true}

// follow asks where the argument's place leads to. What was given input in a frame of
// another origin settles first, where something else is asked for now.
func (pc *pageCalls) follow(ctx context.Context, tab *browser.Tab, fn string, arg map[string]any) (*browser.Reply, error) {
	q := newQuestion(fn, arg)
	q.next = pc.nextFrames
	place := q.Place()
	if err := pc.settleFrames(ctx, tab, fn, arg, place); err != nil {
		return nil, err
	}
	reply, found, err := tab.Ask(ctx, fn, q)
	if first(arg)["settle"] != nil && (reads[fn] || arg["ops"] != nil) {
		// What input has sent a frame to may have come, or gone on, under the question.
		for n := 0; err == nil && n < browser.MostSteps && tab.FramesMove(ctx, q.Ways()); n++ {
			reply, found, err = tab.Ask(ctx, fn, q)
		}
	}
	if found.Script != nil {
		pc.at, pc.rest, pc.place = found.Script, found.Place, place
	}
	return reply, err
}

// wholePage are the functions of the page script that read all frames of a page.
var wholePage = map[string]bool{"snapshot": true, "markdown": true, "facts": true, "links": true}

// settleFrames lets what was given input settle before something is asked for that may
// be about another frame: the input may have sent that elsewhere.
func (pc *pageCalls) settleFrames(ctx context.Context, tab *browser.Tab, fn string, arg map[string]any, place []browser.Part) error {
	settle := first(arg)["settle"]
	if settle == nil {
		return nil
	}
	at, framed := &tab.Script, settle == true && (wholePage[fn] || len(waysOf(arg)) > 0)
	if pc.at != nil && !pc.at.IsMain() && pc.at.In(tab) {
		if at = pc.at; !sameWay(place, pc.place) {
			framed = true
		}
	}
	if !framed {
		return nil
	}
	if _, err := at.Call(ctx, "settled", map[string]any{"settle": true}); err != nil && ctx.Err() != nil {
		return err // a frame that has gone has settled
	}
	if wholePage[fn] && len(place) == 0 {
		tab.AwaitFrames(ctx)
	}
	return nil
}

// askThere is ask for what may not pass through any other document than the one that
// has answered last.
func (pc *pageCalls) askThere(ctx context.Context, s *Step, fn string, sel lang.Selector, more map[string]any, out any) error {
	if pc.at.IsMain() {
		return pc.ask(ctx, s, fn, sel, more, out)
	}
	c, err := pc.find(fn, sel, more)
	if err != nil {
		return err
	}
	arg, err := pc.argument(s, c)
	if err != nil {
		return err
	}
	if arg["in"] = pc.rest; len(pc.rest) == 0 {
		delete(arg, "in")
	}
	reply, err := pc.at.Call(ctx, fn, arg)
	switch {
	case errors.Is(err, browser.ErrFrameLost), err == nil && reply.Hop != nil:
		return Problemf(CodeElementGone, "Element %q is gone: its frame was replaced", sel.String())
	case err != nil:
		return err
	}
	v, err := pc.replied(reply)
	if err != nil {
		return err
	}
	return json.Unmarshal(v, out)
}

// aims are the functions of the page script that say where input must go. They
// change nothing, so after typed text they look at once: a task that fills a form
// does not wait for a frame between two fields. Reads are not among them: what
// is read after input is what the page has made of it.
var aims = map[string]bool{"point": true, "fill": true, "focus": true, "check": true, "fileInput": true}

// reads are the functions of the page script that only look.
var reads = map[string]bool{
	"find": true, "byText": true, "byAttribute": true, "text": true, "html": true, "attr": true, "value": true, "extract": true, "exists": true, "property": true,
	"visible": true, "bring": true, "count": true, "about": true, "pager": true, "await": true, "shown": true, "snapshot": true,
	"markdown": true, "links": true, "table": true, "facts": true, "records": true,
}

// sent is what the page was sent, so that it may be about to leave.
type sent int

const (
	sentNothing sent = iota
	sentText         // typed into a field, which seldom takes a page elsewhere
	sentAct          // a click, a key, a choice
)

// settleSoon asks to let the page settle, unless a look shows that it stays.
const settleSoon = "soon"

// argument adds the frame and the time to what a call says itself.
func (pc *pageCalls) argument(s *Step, c Call) (map[string]any, error) {
	arg := c.Arg
	if arg == nil {
		arg = map[string]any{}
	}
	if t, ok := arg["t"].(lang.Target); ok {
		if err := pc.owns(t); err != nil {
			return nil, err
		}
	}
	arg["ms"] = max(0, Millis(time.Until(pc.run.deadline)))
	arg["of"] = Millis(pc.run.limit)
	pc.addSettle(arg)
	place, err := pc.placeOf(s, arg["t"])
	if err != nil {
		return nil, err
	}
	if place != nil {
		arg["in"] = place
	}
	return arg, nil
}

// addSettle lets the page begin to leave before it is looked at, after whatever may
// have made it leave.
func (pc *pageCalls) addSettle(arg map[string]any) {
	if pc.input != sentNothing || pc.script {
		pc.acted = time.Now()
	}
	switch {
	case pc.input == sentText && !pc.script:
		arg["settle"] = settleSoon
	case pc.input != sentNothing || pc.script:
		arg["settle"] = true
	}
	pc.input, pc.script = sentNothing, false
}

// owns refuses the element of a loop that is not the flow's own.
func (pc *pageCalls) owns(t lang.Target) error {
	if t.Uses("this") && pc.run.scopes.now.flow != "" && pc.run.blocks.elementLoop() == nil {
		return Problemf(CodeElementNotFound, `"$this" stands for the current element of a loop with each, and there is none in the flow %q`, pc.run.scopes.now.flow)
	}
	return nil
}

func (pc *pageCalls) replied(reply *browser.Reply) (Result, error) {
	for _, w := range reply.Warnings {
		if !slices.Contains(pc.told, w) { // an action may ask for the same several times
			pc.told = append(pc.told, w)
			pc.run.warn("%s", w)
		}
	}
	if reply.Code != "" {
		return nil, problemOf(reply)
	}
	return Result(reply.Value), nil
}

// problemOf is the failure that the page told of. Where a selector is no CSS, as find.js
// says it, it may be another tool's.
func problemOf(reply *browser.Reply) *Problem {
	p := &Problem{Code: Code(reply.Code), Text: reply.Error}
	if css, ok := strings.CutSuffix(reply.Error, `" is not a valid CSS selector`); ok {
		if want := lang.InsteadOf(strings.TrimPrefix(css, `"`)); want != "" {
			p.Text += ": want " + want
		}
	}
	return p
}

// tab is the current tab.
func (pc *pageCalls) tab(ctx context.Context) (*browser.Tab, error) {
	for {
		t, err := pc.run.tabs.Tab(ctx)
		if err != nil {
			return nil, err
		}
		// One that has turned out to be a download's is closed meanwhile.
		if err = t.Navigation.Arrived(ctx); err != nil || slices.Contains(pc.run.tabs.Tabs(), t) {
			return t, err
		}
	}
}

// notes are what happened beside the actions, in words.
func (r *Run) notes() (all []string) {
	for _, n := range r.tabs.Journal.Notes() {
		all = append(all, n.String())
	}
	return all
}

// find is a call with a selector.
func (pc *pageCalls) find(fn string, sel lang.Selector, more map[string]any) (Call, error) {
	t, err := sel.Target(pc.run.cache)
	if err != nil {
		return Call{}, err
	}
	if more == nil {
		more = map[string]any{}
	}
	more["t"] = t
	return Call{Fn: fn, Arg: more}, nil
}

// ask is find and call at once, with the value decoded into out.
func (pc *pageCalls) ask(ctx context.Context, s *Step, fn string, sel lang.Selector, more map[string]any, out any) error {
	c, err := pc.find(fn, sel, more)
	if err != nil {
		return err
	}
	v, err := pc.call(ctx, s, c)
	if err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(v, out); err != nil {
		return fmt.Errorf("reading the page's answer to %s: %w", fn, err)
	}
	return nil
}

// strict bounds a call by the step's own time, without the grace that calls
// into the page get.
func (pc *pageCalls) strict(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, pc.run.deadline)
}

// awaitLoaded waits for the page to be there and loaded, but not so long that no time
// for the picture is left.
func (pc *pageCalls) awaitLoaded(ctx context.Context, t *browser.Tab) error {
	arg := map[string]any{"ms": max(0, Millis(time.Until(pc.run.deadline)/2)), "brief": true}
	pc.addSettle(arg)
	_, err := t.Script.Call(ctx, "load", arg) // what is missing is missing in the picture
	if err == nil {
		t.AwaitFrames(ctx)
	}
	return err
}

// about is the address and the title of the current tab's page.
func (pc *pageCalls) about(ctx context.Context, s *Step) (about struct{ URL, Title string }, err error) {
	v, err := pc.callOnce(ctx, s, Call{Fn: "about"})
	if err == nil {
		err = json.Unmarshal(v, &about)
	}
	return about, err
}
