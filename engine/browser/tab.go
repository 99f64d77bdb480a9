package browser

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// Tab is one page with its frames.
type Tab struct {
	context *Context
	id      target.ID
	s       *session
	ready   *pending      // the last command of setUp
	closed  chan struct{} // closed with the tab
	fallen  chan struct{} // closed when the page's process has died

	asked     atomic.Bool          // something in the page has asked to go to another document
	replaying atomic.Bool          // the browser tells once more what was said to the console
	cast      atomic.Pointer[cast] // nil: nobody watches

	mu       sync.Mutex
	world    int64 // our world in the current document; zero: make it
	hands    bool  // it has got them
	frames   map[string]bool
	loading  bool          // a navigation of the page itself is on its way, or its document still loads
	stopped  chan struct{} // closed, and made anew, when that ends
	rested   bool          // it has ended once
	heading  cdp.LoaderID  // the navigation that began last
	aim      cdp.LoaderID  // ours that began last
	document cdp.LoaderID  // the navigation that led to the current document
	complete bool          // its load event was
	fate
	bare      bool          // scripts of the task may have run in it before the page script
	began     bool          // a navigation has, since the page was last asked to leave
	started   chan struct{} // closed, and made anew, when one begins
	pointer   Point
	aimed     chan bool   // hears whether the press that is on its way has hit
	unclicked string      // what has taken the place of what was pressed
	typed     chan string // hears what has come of the keys that are on their way
	stubbed   bool        // requests are answered with an empty page
	crashed   bool
	opener    target.ID                                 // the page that opened it, where that is known
	shown     bool                                      // it has had a document that is not blank
	popup     bool                                      // opened by a page, and nobody has looked at it yet
	opened    time.Time                                 // when
	worlds    chan runtime.EventExecutionContextCreated // nil unless somebody looks for a world
	children  chan target.EventAttachedToTarget         // nil unless somebody looks into frames of other origins
	beside    *session                                  // nil unless somebody waits for answers
	paired    bool                                      // a second session was asked for
	choosers  chan Chooser                              // nil unless somebody has files for them
}

// Arrived returns when a popup has left the blank page that it begins with, or
// shows that it stays there. Tabs of our own are ready at once.
func (t *Tab) Arrived(ctx context.Context) error {
	t.mu.Lock()
	waits, stopped, since := t.popup && !t.rested, t.stopped, t.opened
	t.popup = false
	t.mu.Unlock()
	if !waits {
		return nil
	}
	select {
	case <-stopped:
	case <-time.After(time.Until(since.Add(popupTime))):
	case <-t.closed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// empty reports whether a page has opened the tab and nothing was ever shown in it.
func (t *Tab) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.opener != "" && !t.shown
}

// blank is the address of the page that every tab begins with.
const blank = "about:blank"

// popupTime is how long a popup may take to begin with its document.
const popupTime = 2 * time.Second

func newTab(c *Context, id target.ID) *Tab {
	return &Tab{context: c, id: id, frames: map[string]bool{}, stopped: make(chan struct{}), started: make(chan struct{}), fate: fate{navigated: make(chan struct{})}, closed: make(chan struct{}), fallen: make(chan struct{})}
}

// setUp sends what every tab needs before its first script runs. Nothing is
// waited for: a tab that is asked to do something answers after all of it.
func (t *Tab) setUp() {
	w, h := t.context.Size()
	t.s.send(page.CommandEnable, page.EnableParams{}) // dialogs, and when loading stops
	t.sendSize(w, h)
	t.s.send(emulation.CommandSetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if r := t.context.watching(); r != nil {
		t.watchNetwork(r.wantsBodies())
	}
	if l := t.context.logging(); l != nil {
		t.startLog(l, t.context.watching() != nil)
	}
	t.ready = t.s.send(runtime.CommandRunIfWaitingForDebugger, nil)
}

func (t *Tab) sendSize(w, h int) *pending {
	return t.s.send(emulation.CommandSetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(w), Height: int64(h), DeviceScaleFactor: 1,
	})
}

// event hears of the tab's events, on the reader's goroutine.
func (t *Tab) event(method string, params jsonv2.Value) {
	switch method {
	case "Page.javascriptDialogOpening":
		var e page.EventJavascriptDialogOpening
		if !decode(params, &e) {
			return
		}
		t.answer(e)
	case "Page.frameStartedNavigating":
		var e page.EventFrameStartedNavigating
		if decode(params, &e) && e.FrameID == t.mainFrame() {
			t.mu.Lock()
			t.heading, t.began = e.LoaderID, true
			close(t.started)
			t.started = make(chan struct{})
			t.mu.Unlock()
		}
	case "Page.frameStartedLoading":
		var e page.EventFrameStartedLoading
		if decode(params, &e) && e.FrameID == t.mainFrame() {
			t.mu.Lock()
			t.loading = true
			t.mu.Unlock()
		}
	case "Page.frameStoppedLoading":
		var e page.EventFrameStoppedLoading
		if decode(params, &e) && e.FrameID == t.mainFrame() {
			t.mu.Lock()
			t.loading, t.rested = false, true
			close(t.stopped)
			t.stopped = make(chan struct{})
			t.mu.Unlock()
		}
	case "Page.frameRequestedNavigation":
		var e page.EventFrameRequestedNavigation
		if decode(params, &e) && e.FrameID == t.mainFrame() && e.Disposition == page.ClientNavigationDispositionCurrentTab {
			t.mu.Lock()
			t.began = false
			t.mu.Unlock()
			t.asked.Store(true)
		}
	case "Page.frameNavigated":
		var e page.EventFrameNavigated
		if decode(params, &e) && e.Frame.ParentID == "" {
			t.asked.Store(false)
			t.mu.Lock()
			stubbed := t.stubbed
			t.shown = t.shown || e.Frame.URL != blank
			t.document, t.complete, t.bare = e.Frame.LoaderID, false, false
			clear(t.frames) // of a document in another process, the browser does not tell what becomes of them
			t.address, t.failed, t.broken = e.Frame.URL, e.Frame.UnreachableURL, ""
			close(t.navigated)
			t.navigated = make(chan struct{})
			t.mu.Unlock()
			if !stubbed {
				t.context.visit(e.Frame.URL)
			}
		}
	case "Page.loadEventFired": // of the page itself
		t.mu.Lock()
		t.complete = true
		t.mu.Unlock()
	case "Fetch.requestPaused":
		var e fetch.EventRequestPaused
		if decode(params, &e) {
			t.paused(e.RequestID)
		}
	case "Page.frameAttached":
		var e page.EventFrameAttached
		if decode(params, &e) {
			t.mu.Lock()
			t.frames[string(e.FrameID)] = true
			t.mu.Unlock()
		}
	case "Page.frameDetached":
		var e page.EventFrameDetached
		if decode(params, &e) && e.Reason == page.FrameDetachedReasonRemove {
			t.mu.Lock()
			delete(t.frames, string(e.FrameID))
			t.mu.Unlock()
		}
	case "Target.attachedToTarget":
		var e target.EventAttachedToTarget
		t.mu.Lock()
		if t.children != nil && decode(params, &e) {
			select {
			case t.children <- e:
			default:
			}
		}
		t.mu.Unlock()
	case "Runtime.executionContextCreated":
		var e runtime.EventExecutionContextCreated
		t.mu.Lock()
		if t.worlds != nil && decode(params, &e) {
			select {
			case t.worlds <- e:
			default:
			}
		}
		t.mu.Unlock()
	case "Page.fileChooserOpened":
		var e page.EventFileChooserOpened
		if decode(params, &e) {
			t.chooserOpened(e)
		}
	case "Runtime.bindingCalled":
		var e runtime.EventBindingCalled
		if decode(params, &e) && e.Name == tellBinding {
			t.told(e.Payload)
		}
	case "Page.screencastFrame":
		if k := t.cast.Load(); k != nil {
			k.frame(params)
		}
	case "Inspector.targetCrashed":
		t.mu.Lock()
		if !t.crashed {
			t.crashed = true
			close(t.fallen)
		}
		t.mu.Unlock()
		t.context.b.conn.drop(t.s.id)
	default:
		if method == "Log.entryAdded" {
			t.logged(params)
		}
		if w := t.context.watching(); w != nil {
			w.event(t, method, params)
		}
		if l := t.context.logging(); l != nil {
			l.event(t, method, params)
		}
	}
}

func (t *Tab) hasFrame(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[id]
}

// Loading reports whether the page is on its way to a document or still loads
// one.
func (t *Tab) Loading() bool {
	loading, _ := t.loadingState()
	return loading
}

// Crashed reports whether the page's process has died.
func (t *Tab) Crashed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crashed
}

// loadingState reports whether the page is loading, and a channel that is
// closed when it stops.
func (t *Tab) loadingState() (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loading, t.stopped
}

// StopLoading ends what the page still waits for.
func (t *Tab) StopLoading() { t.s.send(page.CommandStopLoading, nil) }

// Interrupt ends a script that does not end by itself.
func (t *Tab) Interrupt() { t.s.send(runtime.CommandTerminateExecution, nil) }

// forget drops our world: the next call makes it anew.
func (t *Tab) forget() {
	t.mu.Lock()
	t.world = 0
	t.mu.Unlock()
}

func (t *Tab) mainFrame() cdp.FrameID { return cdp.FrameID(t.id) }
