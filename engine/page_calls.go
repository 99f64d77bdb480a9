package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// pageCalls is how a run asks the page of its current tab.
type pageCalls struct {
	run    *Run
	input  sent            // since the page was last asked for anything
	acted  time.Time       // when it was first asked after the last input
	script bool            // a script ran, with the same effect
	frame  []lang.Selector // of the loop that runs
}

// call runs a function of the page script for a step and returns its value.
func (pc *pageCalls) call(ctx context.Context, s *Step, c Call) (Result, error) {
	for tabs := 1; ; tabs++ {
		res, err := pc.callOnce(ctx, s, c)
		if !(aims[c.Fn] || reads[c.Fn]) || !pc.closedUnder(err, tabs) {
			return res, err
		}
	}
}

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
	arg, err := pc.argument(s, c)
	if err != nil {
		return nil, err
	}
	if l := pc.run.elementLoop(); l != nil {
		arg["each"], arg["i"] = l.each, l.i
	}
	ask := tab.Script.Call
	if arg["settle"] == settleSoon && aims[c.Fn] {
		ask = tab.Script.Query
	}
	reply, err := ask(ctx, c.Fn, arg)
	if err != nil {
		return nil, err
	}
	return pc.replied(reply)
}

// aims are the functions of the page script that say where input must go. They
// change nothing, so after typed text they look at once: whoever fills a form
// does not wait for a frame between two fields. Reads are not among them: what
// is read after input is what the page has made of it.
var aims = map[string]bool{"point": true, "fill": true, "focus": true, "check": true, "fileInput": true}

// reads are the functions of the page script that only look.
var reads = map[string]bool{
	"find": true, "byText": true, "byAttribute": true, "text": true, "html": true, "attr": true, "value": true, "extract": true, "exists": true, "property": true,
	"visible": true, "count": true, "about": true, "pager": true,
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
	arg["ms"] = max(0, Millis(time.Until(pc.run.deadline)))
	arg["of"] = Millis(pc.run.limit)
	pc.addSettle(arg)
	place, err := pc.place(s)
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

// place is the frame that a step looks in: its own, or that of the loop.
func (pc *pageCalls) place(s *Step) ([]lang.Target, error) {
	frames := s.Options.Frame
	if frames == nil {
		frames = pc.frame
	}
	var place []lang.Target
	for _, f := range frames {
		t, err := f.Target(pc.run.cache)
		if err != nil {
			return nil, err
		}
		place = append(place, t)
	}
	return place, nil
}

func (pc *pageCalls) replied(reply *browser.Reply) (Result, error) {
	for _, w := range reply.Warnings {
		pc.run.warn("%s", w)
	}
	if reply.Code != "" {
		return nil, &Problem{Code: Code(reply.Code), Text: reply.Error}
	}
	return Result(reply.Value), nil
}

// tab is the current tab.
func (pc *pageCalls) tab(ctx context.Context) (*browser.Tab, error) {
	t, err := pc.run.tabs.Tab(ctx)
	if err != nil {
		return nil, err
	}
	return t, t.Navigation.Arrived(ctx)
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
	arg := map[string]any{"ms": max(0, Millis(time.Until(pc.run.deadline)/2))}
	pc.addSettle(arg)
	_, err := t.Script.Call(ctx, "load", arg) // what is missing is missing in the picture
	return err
}
