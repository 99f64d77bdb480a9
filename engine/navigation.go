package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// navigation takes the tabs of a run to other pages.
type navigation struct {
	run   *Run
	first string // the address that was opened first
}

// open navigates a tab and waits for load. A download leaves the tab where it was, and has
// no answer of its own.
func (nv *navigation) open(ctx context.Context, s *Step, t *browser.Tab, address string) (Result, error) {
	r := nv.run
	if nv.first == "" {
		nv.first = address
	}
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
			return nil, nil
		}
		r.effects.awaitDownload(sctx)
		for _, why := range r.tabs.Transfers.BrokenDownloads() {
			return nil, unreachable(address, why)
		}
		r.warn("%s is a download: downloads has its file, and the tab stays where it was", address)
		return nil, nil
	case errors.Is(err, browser.ErrNoAddress):
		return nil, Problemf(CodeInvalidValue, "want an address that browsers can read, not %q", lang.Short(address, 100))
	case errors.As(err, &nav):
		return nil, unreachable(address, nav)
	case ctx.Err() == nil && sctx.Err() != nil:
		return nil, Problemf(CodeTimeout, "Navigation to %s did not begin within %dms: the server has not answered", address, Millis(r.limit))
	default:
		return nil, err
	}
	return nv.awaitLoad(ctx, s, t, address, address)
}

// awaitLoad waits for the load event of the current document, or for what the step says.
// The reads that follow go along, unless they have to wait for the network.
// address names the page in errors; from is what was asked for, where that may lead to another
// address, or empty.
func (nv *navigation) awaitLoad(ctx context.Context, s *Step, t *browser.Tab, address, from string) (Result, error) {
	r := nv.run
	arg := map[string]any{"ms": max(0, Millis(time.Until(r.deadline)))}
	r.page.addSettle(arg)
	arg["stop"] = true
	wanted := own(s, waitUntil.Name, "load")
	arg["dom"] = wanted == "dom"
	if from != "" {
		arg["from"] = from
	}
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
		return nil, unreachable(address, nav)
	}
	cancel(nil)
	<-watched
	if err != nil {
		return nil, err
	}
	reply := &replies[0]
	r.batches.answered = replies[1:]
	if reply.Code != "" {
		if nav := t.Navigation.Failure(ctx); nav != nil {
			return nil, unreachable(address, nav)
		}
		t.Navigation.Stop()
		return nil, Problemf(CodeTimeout, "The page %s was still arriving after %dms", address, Millis(r.limit))
	}
	at, err := readArrival(&reply.Reply)
	if err != nil {
		return nil, err
	}
	if at.State != stateLoaded {
		if nav := t.Navigation.Failure(ctx); nav != nil {
			return nil, unreachable(address, nav)
		}
		nv.warnMissing(at, wanted)
	}
	if err := nv.judge(s, at); err != nil {
		r.batches.answered = nil
		return nil, err
	}
	res, err := json.Marshal(arrivalAnswer{true, at.Shown, at.Redirected, at.Type, at.Timing})
	if err != nil || wanted != "networkidle" || at.State != stateLoaded {
		return res, err
	}
	late, err := r.idle(ctx)
	if late != nil {
		r.warn("%s", late.Text)
	}
	return res, err
}

// judge warns of a status of 400 or more, or fails the step where its options ask for that.
func (nv *navigation) judge(s *Step, at arrival) error {
	if at.Status < 400 {
		return nil
	}
	nv.run.tabs.Journal.Note("status %d", at.Status)
	if own(s, statusOption.Name, "any") == "ok" {
		return Problemf(CodeNavigationFailed, "The page %s came with status %d, and options.status wants one below 400", lang.Short(at.URL, 200), at.Status)
	}
	nv.run.warn("the page came with status %d: its server says that something is wrong (options.status: \"ok\" makes it a failure)", at.Status)
	return nil
}

// warnMissing says what a page lacks that is there, and can be used, but has not arrived as
// it was to.
func (nv *navigation) warnMissing(at arrival, wanted string) {
	r := nv.run
	switch {
	case at.State == stateArriving:
		r.warn("after %dms the document was still arriving: the list goes on with what is there", Millis(r.limit))
	case wanted == "dom":
		r.warn("after %dms the page's DOMContentLoaded event was still missing: one of its scripts did not arrive, or still runs", Millis(r.limit))
	default:
		r.warn("after %dms the page's load event was still missing: some of its resources did not arrive", Millis(r.limit))
	}
}

// Shown is a page as its visitor and its server name it.
type Shown struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Status int    `json:"status,omitempty"` // that its document came with; zero: it came without one, as about:blank does
}

// arrivalAnswer is the result of an action that goes to a page.
type arrivalAnswer struct {
	Success bool `json:"success"`
	Shown
	Redirected  bool            `json:"redirected"`
	ContentType string          `json:"contentType"`
	Timing      json.RawMessage `json:"timing"`
}

// arrivedResult is the shape, for the reference.
const arrivedResult = "`{\"success\":true,\"url\":string,\"title\":string,\"status\":number,\"redirected\":boolean,\"contentType\":string,\"timing\":{\"responseStart\",\"domContentLoaded\",\"load\"}}`, with times in milliseconds from the start of the navigation"

// arrival is how far a page has arrived, and what it is, as the page script tells it.
type arrival struct {
	Shown
	State      string          `json:"state"`
	Redirected bool            `json:"redirected"`
	Type       string          `json:"type"`
	Timing     json.RawMessage `json:"timing"`
}

// States of an arrival. A document without anything in it yet has none.
const (
	stateLoaded   = "load"
	stateArriving = "document" // and something of it is there
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
func (nv *navigation) travel(ctx context.Context, s *Step, by int64, where string) (Result, error) {
	r := nv.run
	t, err := nv.settledTab(ctx, s)
	if err != nil {
		return nil, err
	}
	sctx, cancel := r.page.strict(ctx)
	defer cancel()
	address, err := t.Navigation.Go(sctx, by)
	switch {
	case errors.Is(err, browser.ErrNoHistory):
		return nil, Problemf(CodeInvalidValue, "There is no page to go %s to: open and links make a history", where)
	case errors.Is(err, browser.ErrStays):
		return nil, Problemf(CodeTimeout, "The tab did not go %s within %dms: the server has not answered, or the page keeps the tab", where, Millis(r.limit))
	case err != nil:
		return nil, err
	}
	r.page.input, r.page.script = sentNothing, false
	return nv.awaitLoad(ctx, s, t, address, "")
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

// maxShownURL bounds the address of a page in an answer, in bytes.
const maxShownURL = 8 << 10

// lastPageTime is how long a page may take to say what it is when a task is over.
const lastPageTime = time.Second

// lastPage is the page that the task leaves behind, nil where there is none. One that does
// not answer in time has only its address.
func (nv *navigation) lastPage(ctx context.Context) *Shown {
	t := nv.run.tabs.Current()
	if t == nil || !t.Navigation.Somewhere() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastPageTime)
	defer cancel()
	page := new(Shown)
	reply, err := t.Script.Call(ctx, "here", struct{}{})
	if err != nil || reply.Code != "" || json.Unmarshal(reply.Value, page) != nil || strings.HasPrefix(page.URL, "chrome-error:") {
		return &Shown{URL: lang.Short(t.Navigation.Shows(), maxShownURL)}
	}
	return page
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
