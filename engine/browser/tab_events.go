package browser

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// tabEvents says what becomes of the events of a tab.
var tabEvents map[string]func(*Tab, jsonv2.Value)

func init() { // what handles an event may lead to others
	tabEvents = map[string]func(*Tab, jsonv2.Value){
		"Page.javascriptDialogOpening":    on((*Tab).answer),
		"Page.javascriptDialogClosed":     func(t *Tab, _ jsonv2.Value) { t.dialogClosed() },
		"Page.frameStartedNavigating":     on(func(t *Tab, e *page.EventFrameStartedNavigating) { t.moves(e.FrameID, func(m *moves) { m.begins(e) }) }),
		"Page.frameStartedLoading":        on(func(t *Tab, e *page.EventFrameStartedLoading) { t.moves(e.FrameID, (*moves).loads) }),
		"Page.frameStoppedLoading":        on(func(t *Tab, e *page.EventFrameStoppedLoading) { t.moves(e.FrameID, (*moves).stops) }),
		"Page.frameRequestedNavigation":   on((*Tab).requested),
		"Page.frameScheduledNavigation":   on((*Tab).scheduled),
		"Page.navigatedWithinDocument":    on((*Tab).navigatedWithin),
		"Page.frameNavigated":             on((*Tab).navigated),
		"Page.loadEventFired":             func(t *Tab, _ jsonv2.Value) { t.Navigation.completes() }, // of the page itself
		"Page.frameAttached":              on(func(t *Tab, e *page.EventFrameAttached) { t.frameAttached(string(e.FrameID)) }),
		"Page.frameDetached":              on((*Tab).frameDetached),
		"Page.fileChooserOpened":          on(func(t *Tab, e *page.EventFileChooserOpened) { t.FileInputs.opened(t.s, e) }),
		"Input.dragIntercepted":           on(func(t *Tab, e *input.EventDragIntercepted) { t.Input.intercepted(e) }),
		"Page.screencastFrame":            (*Tab).screencastFrame,
		"Fetch.requestPaused":             (*Tab).paused,
		"Fetch.authRequired":              func(t *Tab, p jsonv2.Value) { t.context.login(t.s, p) },
		"Target.attachedToTarget":         func(t *Tab, p jsonv2.Value) { t.remote.changes(t.s, "Target.attachedToTarget", p) },
		"Target.detachedFromTarget":       func(t *Tab, p jsonv2.Value) { t.remote.changes(t.s, "Target.detachedFromTarget", p) },
		"Runtime.executionContextCreated": (*Tab).worldCreated,
		"Runtime.bindingCalled":           on((*Tab).bindingCalled),
		"Inspector.targetCrashed":         func(t *Tab, _ jsonv2.Value) { t.crashes() },
		"Log.entryAdded":                  (*Tab).entryAdded,
	}
}

// on makes a handler of one that takes the event decoded.
func on[E any](handle func(*Tab, *E)) func(*Tab, jsonv2.Value) {
	return func(t *Tab, params jsonv2.Value) {
		var e E
		if decode(params, &e) {
			handle(t, &e)
		}
	}
}

// event handles the tab's events, on the reader's goroutine. Those without a handler
// are for the observers of the tab's requests and console.
func (t *Tab) event(method string, params jsonv2.Value) {
	if handle := tabEvents[method]; handle != nil {
		handle(t, params)
		return
	}
	if look := logins[method]; look != nil {
		t.signsIn(look, params)
	}
	t.observed(t.s, method, params)
}

// moves takes in how a frame moves.
func (t *Tab) moves(id cdp.FrameID, take func(*moves)) {
	take(t.movesOf(id))
}

// observed passes an event of one of the tab's processes on to those who look at
// requests and the console.
func (t *Tab) observed(s *session, method string, params jsonv2.Value) {
	if w := t.context.Network.current(); w != nil {
		w.event(t, s, method, params)
	}
	if l := t.context.logging(); l != nil {
		l.event(t, method, params)
	}
}

func (t *Tab) entryAdded(params jsonv2.Value) {
	t.Navigation.logged(params)
	t.observed(t.s, "Log.entryAdded", params)
}

// navigated takes in a new document.
func (t *Tab) navigated(e *page.EventFrameNavigated) {
	if e.Frame.ParentID != "" {
		t.movesOf(e.Frame.ID).shows()
		return
	}
	t.mu.Lock()
	stubbed := t.stubbed
	t.shown = t.shown || e.Frame.URL != blank
	clear(t.frames) // of a document in another process, the browser does not report what becomes of them
	t.mu.Unlock()
	t.remote.forget()
	t.Navigation.commits(e)
	if !stubbed {
		t.context.Snapshots.visit(e.Frame.URL)
		t.shows(e.Frame.URL)
	}
}

func (t *Tab) frameAttached(id string) {
	t.mu.Lock()
	t.frames[id] = true
	t.mu.Unlock()
}

func (t *Tab) frameDetached(e *page.EventFrameDetached) {
	if e.Reason == page.FrameDetachedReasonRemove {
		t.mu.Lock()
		delete(t.frames, string(e.FrameID))
		t.mu.Unlock()
		t.remote.removed(e.FrameID)
		return
	}
	t.movesOf(e.FrameID).stops() // the rest of it is another process's
}

func (t *Tab) worldCreated(params jsonv2.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var e runtime.EventExecutionContextCreated
	if t.worlds != nil && decode(params, &e) {
		select {
		case t.worlds <- e:
		default:
		}
	}
}

func (t *Tab) bindingCalled(e *runtime.EventBindingCalled) {
	if e.Name == tellBinding {
		t.Input.heard(e.Payload)
	}
}

func (t *Tab) screencastFrame(params jsonv2.Value) {
	if k := t.cast.Load(); k != nil {
		k.frame(params)
	}
}

// crashes takes in that the page's process has died.
func (t *Tab) crashes() {
	t.mu.Lock()
	if !t.crashed {
		t.crashed = true
		close(t.fallen)
	}
	t.mu.Unlock()
	t.context.b.conn.drop(t.s.id)
}
