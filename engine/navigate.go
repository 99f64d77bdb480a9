package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Text]{
	Name: "open", Group: "Navigation",
	Doc: "Opens an address in the current tab and waits for its `load` event. If only sub-resources are missing when the action's time is over, it succeeds with a warning. " +
		"A status such as 404 is not a failure. An address that cannot be reached is a failure with the browser's `net::` name, and so is a page or download that breaks off. " +
		"A response without a document (status 204, 205 or 304) is also a failure; the tab stays where it was. If the address is a download, the tab stays where it was, too, but the action succeeds: a warning says so, and `downloads` has the file.",
	Value:   urlShape,
	Example: `{"open":"http://demo.troupe.test/"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
		address, err := r.address(v)
		if err != nil {
			return nil, err
		}
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return nil, err
		}
		return nil, r.open(ctx, s, t, address)
	},
})

var _ = define(Action[lang.Text]{
	Name: "openNewTab", Group: "Navigation",
	Doc:     "Opens an address in a new tab, which becomes the current one, and waits like `open`. It closes the other tabs unless `closeOthers` is false.",
	Value:   urlShape,
	Opts:    []Opt{opt("closeOthers", lang.BoolShape, "Whether to close the other tabs. Default: true.")},
	Example: `{"openNewTab":"http://demo.troupe.test/login","options":{"closeOthers":false}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
		address, err := r.address(v)
		if err != nil {
			return nil, err
		}
		t, err := r.tabs.NewTab(ctx)
		if err != nil {
			return nil, err
		}
		if own(s, "closeOthers", true) {
			r.tabs.CloseOthers(ctx, t)
		}
		return nil, r.open(ctx, s, t, address)
	},
})

var _ = define(Action[lang.Pair[int, int]]{
	Name: "setViewportSize", Group: "Navigation",
	Doc:     "Sets the width and height of the page's visible area, in CSS pixels, also for tabs opened later in the task. Default: 1280 × 720.",
	Value:   lang.PairShape(lang.IntShape("width", 1, maxSide), lang.IntShape("height", 1, maxSide)),
	Example: `{"setViewportSize":[390,844]}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[int, int]) (Result, error) {
		return nil, r.tabs.SetSize(ctx, v.A, v.B)
	},
})

// maxSide bounds each side of the visible area.
const maxSide = 8192

// urlShape is an address to go to. One that depends on values is checked when
// they are filled in.
var urlShape = lang.Shape[lang.Text]{
	Words: "URL", Schema: `{"type":"string","minLength":1}`,
	Read: func(d *lang.Decoder, n *lang.Node) lang.Text {
		s, ok := d.ReadString(n, "a URL")
		t := lang.ParseText(s)
		if ok && t.Fixed() {
			address, _ := t.Expand(nil)
			if _, err := checkURL(address); err != nil {
				d.Fault(n, "%s", err)
			}
		}
		return t
	},
}

// checkURL lets through what a task may go to: http, https and about:blank,
// however it is spelled.
func checkURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, "about:blank") {
		return "about:blank", nil
	}
	want := fmt.Errorf(`want an absolute http or https URL such as "https://example.com/", not %q`, lang.Short(s, 100))
	if strings.ContainsAny(s, "\t\r\n\\") || s == "" {
		return "", want
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Opaque != "" || strings.Contains(u.Hostname(), "%") { // a zone, or escaped twice
		return "", want
	}
	if u.Scheme != "http" && u.Scheme != "https" { // url.Parse has made it lower case
		return "", want
	}
	return s, nil
}

func (r *Run) address(v lang.Text) (string, error) {
	s, err := v.Expand(r.cache)
	if err != nil {
		return "", err
	}
	s, err = checkURL(s)
	if err != nil {
		return "", Problemf(CodeInvalidValue, "%s", err)
	}
	return s, nil
}

// open navigates a tab and waits for load.
func (r *Run) open(ctx context.Context, s *Step, t *browser.Tab, address string) error {
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
	if r.unaided() {
		lctx, cancel := context.WithTimeout(sctx, time.Until(r.deadline)/2) // the rest is for asking the page
		defer cancel()
		if t.Navigation.Loaded(lctx) {
			return nil
		}
	}
	return r.awaitLoad(ctx, s, t, address)
}

// unaided reports whether the next step can do without the page script, and nobody
// wants to hear of the page what only that knows, such as its status.
func (r *Run) unaided() bool {
	if r.traced() || len(r.rest) == 0 {
		return false
	}
	next := &r.rest[0]
	return next.def.unaided && next.Options.Frame == nil && r.page.frame == nil
}

// awaitLoad waits for the load event of the current document. The reads that
// follow go along.
func (r *Run) awaitLoad(ctx context.Context, s *Step, t *browser.Tab, address string) error {
	arg := map[string]any{"ms": max(0, Millis(time.Until(r.deadline)))}
	r.page.addSettle(arg)
	arg["stop"] = true
	ops := append([]operation{{"load", arg}}, r.batches.following(s)...)
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
	var loaded struct {
		State  string `json:"state"`
		Status int    `json:"status"`
	}
	if err := json.Unmarshal(reply.Value, &loaded); err != nil {
		return fmt.Errorf("reading how the page loaded: %w", err)
	}
	if loaded.State != "load" {
		if nav := t.Navigation.Failure(ctx); nav != nil {
			return unreachable(address, nav)
		}
		r.warn("after %dms the page's load event was still missing: some of its resources did not arrive", Millis(r.limit))
	}
	if loaded.Status >= 400 {
		r.tabs.Journal.Note("status %d", loaded.Status)
	}
	return nil
}

// unreachable says why an address could not be reached.
func unreachable(address string, nav *browser.NavigationError) *Problem {
	why := ""
	if nav.Why != "" {
		why = ": " + nav.Why
	}
	return Problemf(CodeNavigationFailed, "Navigation to %s failed: %s%s", address, nav.Text, why)
}
