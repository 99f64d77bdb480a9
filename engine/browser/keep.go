package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
)

// A context can be kept for a further task where all that a task has left in it is of
// a kind that [Context.Clean] removes. Keeping finds out whether it is: it knows the
// few kinds that can be removed, and takes everything else for a reason to replace the
// context.
type keeping struct {
	mu     sync.Mutex
	tab    target.ID // the only one that there may be
	reason string    // why the context cannot be kept; empty: nothing is known against it
	moved  bool      // the mouse was
	window window    // its place and size before the first task
}

// window is where a window is and how large. Scripts may change that, and no command
// says so.
type window struct {
	Bounds struct {
		Left   int64 `json:"left"`
		Top    int64 `json:"top"`
		Width  int64 `json:"width"`
		Height int64 `json:"height"`
	} `json:"bounds"`
}

// leavesNothing are the commands after which a tab is as before once its document was
// left, or whose effects Clean removes.
var leavesNothing = map[string]bool{
	"Runtime.evaluate": true, "Runtime.callFunctionOn": true, "Runtime.releaseObject": true, "Runtime.getProperties": true,
	"Runtime.runIfWaitingForDebugger": true,
	"Page.createIsolatedWorld":        true, "Page.navigate": true, "Page.reload": true, "Page.stopLoading": true, "Page.getFrameTree": true,
	"Page.getLayoutMetrics": true, "Page.getNavigationHistory": true, "Page.navigateToHistoryEntry": true,
	"DOM.describeNode": true, "DOM.resolveNode": true, "DOM.getFrameOwner": true,
	"Input.dispatchMouseEvent": true, "Input.dispatchKeyEvent": true, "Input.insertText": true, // see moved
	"Storage.getCookies": true, "Storage.setCookies": true, "Storage.clearCookies": true,
	"Target.getTargets": true, "Browser.getVersion": true, "Browser.getWindowForTarget": true,
	"Runtime.addBinding":     true, // only in our own world
	"Page.captureScreenshot": true, // of any part of a page and in any format: the tests of marks find nothing after it

	// Of Clean itself.
	"Storage.clearDataForOrigin": true, "Network.clearBrowserCache": true, "Page.resetNavigationHistory": true,
}

// Keep has the context find out from now on whether it can be kept for another task.
// Its browser must be its own. Without erase it is kept as it is, so that only what would
// change the next task by itself counts.
func (c *Context) Keep(ctx context.Context, erase bool) error {
	t := c.Current()
	if t == nil {
		return fmt.Errorf("watching what a task leaves: %w", ErrDetached)
	}
	k := &keeping{tab: t.id}
	c.mu.Lock()
	c.keeping = k
	c.mu.Unlock()
	nothing := int64(0)
	windowed := k.ask(c)
	var sent []*pending
	if erase {
		sent = append(sent,
			c.b.root.send(target.CommandSetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true, Filter: everyTarget}),
			t.s.send(network.CommandEnable, network.EnableParams{MaxTotalBufferSize: &nothing, MaxResourceBufferSize: &nothing}))
	}
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil {
			return fmt.Errorf("watching what a task leaves: %w", err)
		}
	}
	if err := windowed.wait(ctx, &k.window); err != nil {
		return fmt.Errorf("reading the bounds of a window: %w", err)
	}
	c.b.conn.watchCommands(c.told)
	return nil
}

// ask asks where the window of the tab is.
func (k *keeping) ask(c *Context) *pending {
	return c.b.root.send(browser.CommandGetWindowForTarget, browser.GetWindowForTargetParams{TargetID: k.tab})
}

// everyTarget is whatever may run scripts.
var everyTarget = target.Filter{{Type: "browser", Exclude: true}, {Type: "tab", Exclude: true}, {}}

// told takes in the name of a command that the browser was sent. It may be called with
// locks of the context held.
func (c *Context) told(name string) {
	k := c.keeping // set before anything is told
	switch {
	case !leavesNothing[name]:
		k.found(name)
	case name == input.CommandDispatchMouseEvent:
		k.mu.Lock()
		k.moved = true
		k.mu.Unlock()
	}
}

// found takes in why the context cannot be kept.
func (k *keeping) found(reason string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reason == "" {
		k.reason = reason
	}
}

// MustReplace says why the context cannot be kept; empty: nothing is known against it.
func (c *Context) MustReplace() string {
	c.mu.Lock()
	k, tabs, opened, begun, excess := c.keeping, len(c.tabs), c.opened, c.Transfers.budget.begun+c.Transfers.turnedAway, c.excess
	c.mu.Unlock()
	switch {
	case k == nil:
		return "it was not watched"
	case tabs != 1 || opened != 1 || excess > 0:
		return "a tab was opened or closed"
	case begun > 0:
		return "a download began"
	case c.Crashed():
		return "its page has crashed"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reason
}

// targetCreated takes in that there is a tab, a frame of another process or a worker.
func (b *Browser) targetCreated(e *target.EventTargetCreated) {
	if e.TargetInfo == nil {
		return
	}
	b.mu.Lock()
	c := b.contexts[string(e.TargetInfo.BrowserContextID)]
	b.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	k := c.keeping
	c.mu.Unlock()
	if k != nil && e.TargetInfo.TargetID != k.tab {
		k.found("a " + e.TargetInfo.Type)
	}
}

// logins are the events that say whether the browser was given something that it remembers
// and nothing clears: logins, and what servers want to know of it.
var logins = map[string]func(*keeping, jsonv2.Value){
	"Network.requestWillBeSent": func(k *keeping, params jsonv2.Value) {
		var e struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		u, err := (*url.URL)(nil), error(nil)
		if decode(params, &e) {
			u, err = url.Parse(e.Request.URL)
		}
		switch {
		case strings.HasPrefix(e.Request.URL, "data:"): // may be no address for others
		case u == nil || err != nil:
			k.found("an address that cannot be read")
		case u.User != nil: // the browser answers a question for a login by itself, and does not tell
			k.found("a login in an address")
		}
	},
	"Network.requestWillBeSentExtraInfo": (*keeping).heads,
	"Network.responseReceivedExtraInfo":  (*keeping).heads,
	"Network.webSocketCreated":           func(k *keeping, _ jsonv2.Value) { k.found("a WebSocket") },
	"Network.webTransportCreated":        func(k *keeping, _ jsonv2.Value) { k.found("a WebTransport") },
}

// signsIn takes in an event of a tab.
func (t *Tab) signsIn(look func(*keeping, jsonv2.Value), params jsonv2.Value) {
	t.context.mu.Lock()
	k := t.context.keeping
	t.context.mu.Unlock()
	if k != nil {
		look(k, params)
	}
}

// heads looks at the heads of a request or of an answer.
func (k *keeping) heads(params jsonv2.Value) {
	var e struct {
		StatusCode int64             `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
	}
	if !decode(params, &e) {
		k.found("heads that cannot be read")
		return
	}
	if e.StatusCode == http.StatusUnauthorized || e.StatusCode == http.StatusProxyAuthRequired {
		k.found("a server asked for a login")
	}
	for name := range e.Headers {
		switch n := strings.ToLower(name); n {
		case "authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate", "accept-ch", "critical-ch":
			k.found("the header " + n)
		}
	}
}

// ErrResists says that a page did not let itself be left in time.
var ErrResists = fmt.Errorf("the page does not let itself be left")

// outside moves the mouse to where there is no page. It is sent before the page is left,
// because a new page takes no input before it is drawn. Moves wait for the next frame;
// a button that is let go brings them at once, and out there nobody is told of it.
func (t *Tab) outside() []*pending {
	var sent []*pending
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMouseReleased} {
		sent = append(sent, t.s.send(input.CommandDispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: -1, Y: -1, Button: input.MouseButtonNone}))
	}
	return sent
}

// Clean leaves the page and, with erase, removes whatever sites have stored, and what is
// in the clipboard. The page has the time given for letting itself be left, and left is what
// it took. After an error the context must be replaced.
func (c *Context) Clean(ctx context.Context, erase bool, patience time.Duration) (left time.Duration, err error) {
	t, k := c.Current(), c.keeping
	if t == nil || k == nil {
		return 0, ErrDetached
	}
	k.mu.Lock()
	moved := k.moved
	k.mu.Unlock()
	var sent []*pending
	var wiping *pending
	if moved {
		sent = append(sent, t.outside()...)
	}
	began := time.Now()
	gone := func() {}
	if erase { // in another process, while that of the page makes a new one
		gone = func() { wiping = c.b.wipe() }
	}
	if err := t.blanks(ctx, patience, gone); err != nil {
		return 0, err
	}
	left = time.Since(began)
	if why := c.MustReplace(); why != "" { // what was still to come
		return 0, fmt.Errorf("%s: %w", why, ErrUnclean)
	}
	if erase {
		sent = append(sent,
			t.s.send(storage.CommandClearDataForOrigin, storage.ClearDataForOriginParams{Origin: "*", StorageTypes: "all"}),
			c.b.root.send(storage.CommandClearCookies, storage.ClearCookiesParams{BrowserContextID: c.id}),
			t.s.send(network.CommandClearBrowserCache, nil),
		)
	}
	sent = append(sent, t.s.send(page.CommandResetNavigationHistory, nil))
	windowed := k.ask(c)
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil {
			return 0, fmt.Errorf("cleaning a context: %w", err)
		}
	}
	var now window
	if err := windowed.wait(ctx, &now); err != nil {
		return 0, fmt.Errorf("reading the bounds of a window: %w", err)
	}
	if now != k.window {
		return 0, fmt.Errorf("the window was moved: %w", ErrUnclean)
	}
	if erase {
		if err := c.b.wiped(ctx, wiping); err != nil {
			return 0, err
		}
		if err := c.erased(ctx); err != nil {
			return 0, err
		}
	}
	c.forget()
	if why := c.MustReplace(); why != "" {
		return 0, fmt.Errorf("%s: %w", why, ErrUnclean)
	}
	return left, nil
}

// blanks leaves the page of a tab, and calls gone when that has no scripts any more.
func (t *Tab) blanks(ctx context.Context, patience time.Duration, gone func()) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrResists)
	defer cancel()
	var to page.NavigateResult
	if err := t.s.call(ctx, page.CommandNavigate, page.NavigateParams{URL: blank}, &to); err != nil {
		return fmt.Errorf("leaving a page: %w", err)
	}
	yes := true
	var res struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	sent := t.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: `window.name='',location.href`, ReturnByValue: &yes})
	t.Navigation.awaitDocument(ctx, to.LoaderID)
	gone()
	if err := sent.wait(ctx, &res); err != nil {
		return fmt.Errorf("leaving a page: %w", err)
	}
	if res.Result.Value != blank {
		return fmt.Errorf("the tab shows another page: %w", ErrUnclean)
	}
	return nil
}

// erased looks whether a site was able to store something in the meantime.
func (c *Context) erased(ctx context.Context) error {
	cookies, err := c.Cookies.All(ctx)
	if err != nil {
		return err
	}
	if len(cookies) > 0 {
		return fmt.Errorf("there are %d cookies: %w", len(cookies), ErrUnclean)
	}
	return nil
}

// forget makes the context what it was before its first task, for those who look at it.
func (c *Context) forget() {
	c.mu.Lock()
	c.used, c.handled, c.tried, c.log = false, false, nil, nil
	c.mask.Store(nil)
	tabs := slices.Clone(c.tabs)
	c.mu.Unlock()
	c.keeping.mu.Lock()
	c.keeping.moved = false
	c.keeping.mu.Unlock()
	c.Journal.Notes()
	c.Journal.Dialogs()
	c.Journal.Happened()
	c.Dialogs.Begin(nil)
	sn := &c.Snapshots
	sn.mu.Lock()
	sn.visited, sn.local, sn.databases = nil, nil, nil
	sn.mu.Unlock()
	for _, t := range tabs {
		t.Input.mu.Lock()
		t.Input.pointer, t.Input.unclicked = Point{}, ""
		t.Input.mu.Unlock()
	}
}
