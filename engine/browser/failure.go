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

// throughProxy are Chromium's names for failures that may come from what the proxy
// did because of a server, and not from the server itself.
var throughProxy = []string{
	"net::ERR_TUNNEL_CONNECTION_FAILED", "net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION", "net::ERR_EMPTY_RESPONSE",
	"net::ERR_CONTENT_LENGTH_MISMATCH", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", downloadFailed,
}

// downloadFailed is the name for a download that broke off: the browser gives none.
const downloadFailed = "net::ERR_FAILED"

// faults is what is known of requests of a context that failed.
type faults struct {
	broken  []*Download                          // that broke off
	explain func(url string) (name, text string) // nil: nobody knows more than the browser
}

// fate is what became of a tab's document.
type fate struct {
	address   string        // of the current document
	failed    string        // the address that the browser's own error page stands for, which is the current document
	broken    string        // why the current document did not arrive as a whole; empty: it did, or nobody has asked
	navigated chan struct{} // closed, and made anew, with each document
}

// SetExplain sets what knows why a request through the proxy failed: the name that
// browsers have for it, and a sentence. Both are empty when it does not know.
func (c *Context) SetExplain(explain func(url string) (name, text string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.explain = explain
}

// explained returns the name of a request's failure, and a sentence where there is
// one.
func (c *Context) explained(url, name string) (string, string) {
	c.mu.Lock()
	explain := c.explain
	c.mu.Unlock()
	if explain == nil || !slices.Contains(throughProxy, name) {
		return name, ""
	}
	if better, text := explain(url); better != "" {
		return better, text
	}
	return name, ""
}

// explainedText is a line of the browser's with the better name in it.
func (c *Context) explainedText(url, text string) string {
	before, name, found := strings.Cut(text, "net::")
	if !found {
		return text
	}
	name, rest, _ := strings.Cut(name, " ")
	better, _ := c.explained(url, "net::"+name)
	return strings.TrimSpace(before + better + " " + rest)
}

// unreached is the failure of a navigation of ours. Redirects may have led it
// elsewhere: the error page that the browser shows names the address.
func (t *Tab) unreached(ctx context.Context, url, name string, ours cdp.LoaderID) *NavigationError {
	if slices.Contains(throughProxy, name) {
		url = t.failedAddress(ctx, url, ours)
	}
	name, text := t.context.explained(url, name)
	return &NavigationError{Text: name, Why: text}
}

func (t *Tab) failedAddress(ctx context.Context, url string, ours cdp.LoaderID) string {
	for {
		t.mu.Lock()
		at, heading, failed, began, navigated := t.document, t.heading, t.failed, t.started, t.navigated
		t.mu.Unlock()
		if at == ours && failed != "" {
			return failed
		}
		if heading != ours {
			return url
		}
		select {
		case <-navigated:
		case <-began:
		case <-t.closed:
			return url
		case <-t.fallen:
			return url
		case <-ctx.Done():
			return url
		}
	}
}

// BrokenOff waits until the tab's document breaks off within its body, and returns
// why. Such a document never loads. It returns nil when the document has loaded,
// and when ctx ends.
func (t *Tab) BrokenOff(ctx context.Context) *NavigationError {
	for {
		t.mu.Lock()
		ended := t.document == t.heading && !t.loading && !t.complete
		complete, stopped := t.complete && t.document == t.heading, t.stopped
		t.mu.Unlock()
		if complete {
			return nil
		}
		if ended {
			if why := t.DocumentFailure(ctx); why != nil {
				return why
			}
		}
		select {
		case <-stopped:
		case <-t.closed:
			return nil
		case <-t.fallen:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// DocumentFailure asks why the tab's document did not arrive as a whole. It is nil
// where nothing is wrong with that.
func (t *Tab) DocumentFailure(ctx context.Context) *NavigationError {
	if l := t.context.logging(); l == nil || !l.console { // else it was told already
		on := t.s.send(cdplog.CommandEnable, nil) // tells what was before, first
		t.s.send(cdplog.CommandDisable, nil)
		if on.wait(ctx, nil) != nil {
			return nil
		}
	}
	t.mu.Lock()
	name, address := t.broken, t.address
	t.mu.Unlock()
	if name == "" {
		return nil
	}
	name, text := t.context.explained(address, name)
	return &NavigationError{Text: name, Why: text}
}

// logged hears of a line that the browser itself wrote to the console, and keeps
// what it says of the document.
func (t *Tab) logged(params jsonv2.Value) {
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Entry.NetworkRequestID == string(t.document) { // a document's request has its navigation's number
		t.broken = "net::" + name
	}
}
