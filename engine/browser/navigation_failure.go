package browser

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	cdplog "github.com/chromedp/cdproto/log"
)

// unreached is the failure of a navigation of ours. Redirects may have led it
// elsewhere: the error page that the browser shows names the address.
func (nav *Navigation) unreached(ctx context.Context, url, name string, ours cdp.LoaderID) *NavigationError {
	if slices.Contains(throughProxy, name) {
		url = nav.failedAddress(ctx, url, ours)
	}
	name, text := nav.tab.context.explained(url, name)
	return &NavigationError{Text: name, Why: text}
}

func (nav *Navigation) failedAddress(ctx context.Context, url string, ours cdp.LoaderID) string {
	for {
		nav.mu.Lock()
		at, heading, failed, began, navigated := nav.document, nav.heading, nav.failed, nav.started, nav.navigated
		nav.mu.Unlock()
		if at == ours && failed != "" {
			return failed
		}
		if heading != ours {
			return url
		}
		select {
		case <-navigated:
		case <-began:
		case <-nav.tab.closed:
			return url
		case <-nav.tab.fallen:
			return url
		case <-ctx.Done():
			return url
		}
	}
}

// BrokenOff waits until the document breaks off within its body, so that it never
// loads, and returns why. It returns nil when the document has loaded, and when
// ctx ends.
func (nav *Navigation) BrokenOff(ctx context.Context) *NavigationError {
	for {
		nav.mu.Lock()
		ended := nav.document == nav.heading && !nav.loading && !nav.complete
		complete, stopped := nav.complete && nav.document == nav.heading, nav.stopped
		nav.mu.Unlock()
		if complete {
			return nil
		}
		if ended {
			if why := nav.Failure(ctx); why != nil {
				return why
			}
		}
		select {
		case <-stopped:
		case <-nav.tab.closed:
			return nil
		case <-nav.tab.fallen:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Failure asks why the tab's document did not arrive as a whole. It is nil
// where nothing is wrong with that.
func (nav *Navigation) Failure(ctx context.Context) *NavigationError {
	if l := nav.tab.context.logging(); l == nil || !l.console { // else it was told already
		on := nav.tab.s.send(cdplog.CommandEnable, nil) // reports earlier lines first
		nav.tab.s.send(cdplog.CommandDisable, nil)
		if on.wait(ctx, nil) != nil {
			return nil
		}
	}
	nav.mu.Lock()
	name, address := nav.broken, nav.address
	nav.mu.Unlock()
	if name == "" {
		return nil
	}
	name, text := nav.tab.context.explained(address, name)
	return &NavigationError{Text: name, Why: text}
}

// logged handles a line that the browser itself wrote to the console, and keeps
// what it says of the document.
func (nav *Navigation) logged(params jsonv2.Value) {
	var e struct {
		Entry struct{ Source, Text, NetworkRequestID string }
	}
	if json.Unmarshal(params, &e) != nil || e.Entry.Source != "network" {
		return
	}
	_, name, found := strings.Cut(e.Entry.Text, "net::")
	if !found {
		return
	}
	name, _, _ = strings.Cut(name, " ")
	nav.mu.Lock()
	defer nav.mu.Unlock()
	if e.Entry.NetworkRequestID == string(nav.document) { // a document's request has its navigation's number
		nav.broken = "net::" + name
	}
}
