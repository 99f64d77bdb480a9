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

// navigation takes the tabs of a run to other pages.
type navigation struct{ run *Run }

// open navigates a tab and waits for load.
func (nv *navigation) open(ctx context.Context, s *Step, t *browser.Tab, address string) error {
	r := nv.run
	sctx, cancel := r.page.strict(ctx)
	defer cancel()
	r.page.input, r.page.script = sentNothing, false
	err := t.Navigation.Open(sctx, address)
	var nav *browser.NavigationError
	switch {
	case err == nil:
	case errors.Is(err, browser.ErrDownload):
		if r.task.Config.RefuseDownloads {
			r.warn("%s is a download, which the task refuses: the tab stays where it was", address)
			return nil
		}
		r.effects.awaitDownload(sctx)
		for _, why := range r.tabs.Transfers.BrokenDownloads() {
			return unreachable(address, why)
		}
		r.warn("%s is a download: downloads has its file, and the tab stays where it was", address)
		return nil
	case errors.Is(err, browser.ErrNoAddress):
		return Problemf(CodeInvalidValue, "want an address that browsers can read, not %q", lang.Short(address, 100))
	case errors.As(err, &nav):
		return unreachable(address, nav)
	case ctx.Err() == nil && sctx.Err() != nil:
		return Problemf(CodeTimeout, "Navigation to %s did not begin within %dms: the server has not answered", address, Millis(r.limit))
	default:
		return err
	}
	if nv.unaided(s) {
		lctx, cancel := context.WithTimeout(sctx, time.Until(r.deadline)/2) // the rest is for asking the page
		defer cancel()
		if t.Navigation.Loaded(lctx) {
			return nil
		}
	}
	return nv.awaitLoad(ctx, s, t, address)
}

// unaided reports whether the next step can do without the page script, and nobody
// wants what only the page knows, such as its status.
func (nv *navigation) unaided(s *Step) bool {
	r := nv.run
	if r.traced() || len(r.rest) == 0 || own(s, waitUntil.Name, "load") != "load" {
		return false
	}
	next := &r.rest[0]
	return next.def.unaided && next.Options.Frame == nil && r.page.frame == nil
}

// awaitLoad waits for the load event of the current document, or for what the step says.
// The reads that follow go along, unless they have to wait for the network.
func (nv *navigation) awaitLoad(ctx context.Context, s *Step, t *browser.Tab, address string) error {
	r := nv.run
	arg := map[string]any{"ms": max(0, Millis(time.Until(r.deadline)))}
	r.page.addSettle(arg)
	arg["stop"] = true
	wanted := own(s, waitUntil.Name, "load")
	arg["dom"] = wanted == "dom"
	ops := []operation{{"load", arg}}
	if wanted != "networkidle" {
		ops = append(ops, r.batches.following(s)...)
	}
	whole, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if why := t.Navigation.BrokenOff(whole); why != nil {
			cancel(why)
		}
	}()
	replies, err := r.batches.ask(whole, func(ctx context.Context, fn string, arg map[string]any) (*browser.Reply, error) {
		return t.Script.CallOnArrival(ctx, fn, arg)
	}, ops, len(ops), nil)
	nav := (*browser.NavigationError)(nil)
	if errors.As(context.Cause(whole), &nav) {
		return unreachable(address, nav)
	}
	cancel(nil)
	<-watched
	if err != nil {
		return err
	}
	reply := &replies[0]
	r.batches.answered = replies[1:]
	if reply.Code != "" {
		if nav := t.Navigation.Failure(ctx); nav != nil {
			return unreachable(address, nav)
		}
		t.Navigation.Stop()
		return Problemf(CodeTimeout, "The page %s was still arriving after %dms", address, Millis(r.limit))
	}
	at, err := readArrival(&reply.Reply)
	if err != nil {
		return err
	}
	if at.State != arrived {
		if nav := t.Navigation.Failure(ctx); nav != nil {
			return unreachable(address, nav)
		}
		nv.warnMissing(at, wanted)
	}
	if at.Status >= 400 {
		r.tabs.Journal.Note("status %d", at.Status)
	}
	if wanted != "networkidle" || at.State != arrived {
		return nil
	}
	late, err := r.idle(ctx)
	if late != nil {
		r.warn("%s", late.Text)
	}
	return err
}

// warnMissing says what a page lacks that is there, and can be used, but has not arrived as
// it was to.
func (nv *navigation) warnMissing(at arrival, wanted string) {
	r := nv.run
	switch {
	case at.State == arriving:
		r.warn("after %dms the document was still arriving: the list goes on with what is there", Millis(r.limit))
	case wanted == "dom":
		r.warn("after %dms the page's DOMContentLoaded event was still missing: one of its scripts did not arrive, or still runs", Millis(r.limit))
	default:
		r.warn("after %dms the page's load event was still missing: some of its resources did not arrive", Millis(r.limit))
	}
}

// arrival is how far a page has arrived, as the page script tells it.
type arrival struct {
	State  string `json:"state"`
	Status int    `json:"status"`
}

// States of an arrival. A document without anything in it yet has none.
const (
	arrived  = "load"
	arriving = "document" // and something of it is there
)

func readArrival(reply *browser.Reply) (at arrival, err error) {
	if reply.Code != "" {
		return at, nil
	}
	if err := json.Unmarshal(reply.Value, &at); err != nil {
		return at, fmt.Errorf("reading how the page loaded: %w", err)
	}
	return at, nil
}

// unreachable says why an address could not be reached.
func unreachable(address string, nav *browser.NavigationError) *Problem {
	why := ""
	if nav.Why != "" {
		why = ": " + nav.Why
	}
	return Problemf(CodeNavigationFailed, "Navigation to %s failed: %s%s", address, nav.Text, why)
}

// travel goes to another page of the current tab's history.
func (nv *navigation) travel(ctx context.Context, s *Step, by int64, where string) error {
	r := nv.run
	t, err := nv.settledTab(ctx, s)
	if err != nil {
		return err
	}
	sctx, cancel := r.page.strict(ctx)
	defer cancel()
	address, err := t.Navigation.Go(sctx, by)
	switch {
	case errors.Is(err, browser.ErrNoHistory):
		return Problemf(CodeInvalidValue, "There is no page to go %s to: open and links make a history", where)
	case errors.Is(err, browser.ErrStays):
		return Problemf(CodeTimeout, "The tab did not go %s within %dms: the server has not answered, or the page keeps the tab", where, Millis(r.limit))
	case err != nil:
		return err
	}
	r.page.input, r.page.script = sentNothing, false
	return nv.awaitLoad(ctx, s, t, address)
}

// settledTab is the current tab once what the last input began has begun: a page that
// is about to leave must not be asked to go elsewhere before.
func (nv *navigation) settledTab(ctx context.Context, s *Step) (*browser.Tab, error) {
	r := nv.run
	if r.page.input != sentNothing || r.page.script {
		if _, err := r.page.call(ctx, s, Call{Fn: "settled"}); err != nil {
			return nil, err
		}
	}
	return r.page.tab(ctx)
}

func (nv *navigation) address(v lang.Text) (string, error) {
	s, err := v.Expand(nv.run.cache)
	if err != nil {
		return "", err
	}
	s, err = checkURL(s)
	if err != nil {
		return "", Problemf(CodeInvalidValue, "%s", err)
	}
	return s, nil
}
