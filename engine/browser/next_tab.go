package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// What a click leads to may be in another tab: a new one, or one that has a name and is
// used again. That tab is the current one then.

const (
	// expectTime is how long a tab may take to come once a page has asked for it.
	expectTime = 5 * time.Second
	// activation is how long a page may open windows after input, as the browser has it.
	activation = 5 * time.Second
)

// requested takes in that something in the tab's page has asked for a document: in one of
// its frames, in a new tab, or in another one.
func (t *Tab) requested(e *page.EventFrameRequestedNavigation) {
	c := t.context
	switch e.Disposition {
	case page.ClientNavigationDispositionNewTab, page.ClientNavigationDispositionNewWindow:
		c.expects()
		return
	case page.ClientNavigationDispositionCurrentTab:
	default:
		return
	}
	to := c.tabOf(e.FrameID)
	if to == nil {
		t.moves(e.FrameID, func(m *moves) { m.requested(e) })
		return
	}
	to.Navigation.requested(e)
	c.follows(to, e.Reason)
}

// scheduled takes in that a frame is to go elsewhere: by its document's head, which then is
// about to, or to a place in the document that it shows.
func (t *Tab) scheduled(e *scheduledNavigation) {
	if e.FrameID == t.mainFrame() {
		t.Navigation.mu.Lock()
		t.Navigation.byItself = e.Reason == page.ClientNavigationReasonScriptInitiated
		t.Navigation.mu.Unlock()
		return
	}
	if e.Delay < soonAnew && (e.Reason == page.ClientNavigationReasonMetaTagRefresh || e.Reason == page.ClientNavigationReasonHTTPHeaderRefresh) {
		t.moves(e.FrameID, (*moves).refreshes)
	}
}

// scheduledNavigation is an event that the types of the protocol leave out.
type scheduledNavigation struct {
	FrameID cdp.FrameID                 `json:"frameId"`
	Delay   float64                     `json:"delay"`
	Reason  page.ClientNavigationReason `json:"reason"`
}

// soonAnew is how many seconds a document may be shown that is replaced by itself, to be
// taken for a step on the way.
const soonAnew = 1

// navigatedWithin takes in that a tab shows another place of its document. What asks for
// that from another tab, by the name of this one, asks for nothing else: the browser tells
// of no document then.
func (t *Tab) navigatedWithin(e *page.EventNavigatedWithinDocument) {
	if e.FrameID != t.mainFrame() || e.NavigationType != page.NavigatedWithinDocumentNavigationTypeFragment {
		return
	}
	t.Navigation.mu.Lock()
	byItself := t.Navigation.byItself
	t.Navigation.byItself = false
	t.Navigation.mu.Unlock()
	if !byItself {
		t.context.follows(t, page.ClientNavigationReasonAnchorClick)
	}
}

// tabOf is the tab whose main frame it is, nil where it is another.
func (c *Context) tabOf(id cdp.FrameID) *Tab {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tabs {
		if t.mainFrame() == id {
			return t
		}
	}
	return nil
}

// follows makes a tab the current one that was asked for a document from another tab: by
// its name, in window.open or the target of a link or a form. A page that sends itself
// elsewhere stays behind the current one.
func (c *Context) follows(t *Tab, reason page.ClientNavigationReason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	top := c.top()
	if top == nil || top == t || !c.has(t.id) {
		return
	}
	switch reason {
	case page.ClientNavigationReasonOther: // window.open
	case page.ClientNavigationReasonAnchorClick, page.ClientNavigationReasonFormSubmissionGet, page.ClientNavigationReasonFormSubmissionPost:
		if time.Since(top.Input.last()) > activation {
			return
		}
	default:
		return
	}
	nav := &t.Navigation
	nav.mu.Lock()
	nav.popup, nav.reused, nav.rested, nav.opened = true, true, false, time.Now()
	nav.mu.Unlock()
	c.raise(t)
	t.s.send(page.CommandBringToFront, nil)
}

// expects: a page has asked for a new tab, of which the browser tells later.
func (c *Context) expects() {
	c.mu.Lock()
	c.expected, c.expectedAt = c.expected+1, time.Now()
	c.mu.Unlock()
}

// came: a tab is there that a page has asked for. The caller holds c.mu.
func (c *Context) came() {
	if c.expected > 0 {
		c.expected--
		c.notify()
	}
}

// awaitExpected returns when the tabs are there that pages have asked for, or have had
// their time.
func (c *Context) awaitExpected(ctx context.Context) error {
	for {
		c.mu.Lock()
		expected, changed, left := c.expected, c.changed, expectTime-time.Since(c.expectedAt)
		if expected > 0 && left <= 0 {
			c.expected, expected = 0, 0
		}
		err := c.err
		c.mu.Unlock()
		if expected == 0 || err != nil {
			return nil
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// Overtaking watches for another tab that becomes the current one while a question is asked
// right after input: forms and scripts open windows a moment after a click. A question that
// waits in the tab before ends then.
type Overtaking struct {
	tab   *Tab
	began time.Time
	stop  chan struct{}
	ended chan struct{}
	left  bool
}

// Watch begins when a tab is asked.
func (o *Overtaking) Watch(t *Tab) {
	if o == nil || o.tab != nil {
		return
	}
	o.tab, o.began, o.stop, o.ended = t, time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(o.ended)
		timer := time.NewTimer(lateStart)
		defer timer.Stop()
		for {
			left, changed := t.context.overtook(t)
			if left {
				o.left = true
				t.abort()
				return
			}
			select {
			case <-changed:
			case <-o.stop:
				return
			case <-timer.C:
				return
			}
		}
	}()
}

// Ended ends the watch, and reports whether another tab has become the current one.
func (o *Overtaking) Ended() bool {
	if o == nil || o.tab == nil {
		return false
	}
	close(o.stop)
	<-o.ended
	left, _ := o.tab.context.overtook(o.tab)
	return o.left || left && time.Since(o.began) < lateStart
}

// overtook reports whether another tab than one that is still open is the current one, and
// gives a channel that is closed when the tabs change.
func (c *Context) overtook(t *Tab) (bool, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && c.has(t.id) && c.top() != t, c.changed
}

// abort ends whatever waits in the tab's pages.
func (t *Tab) abort() {
	t.Script.Tell("abort()")
	for _, ps := range t.remote.asked() {
		ps.Tell("abort()")
	}
}

// Expecting lets the page of a script come to ask for a tab, where input with modifiers may
// have made it: its event comes when the page has handled the input.
func (ps *PageScript) Expecting(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, popupTime)
	defer cancel()
	_, _ = ps.Call(ctx, "settled", map[string]any{"settle": true}) // a page that has gone has settled
}

// fromPage reports whether a page has opened a tab, and not we. Of one that comes by a key
// that is held during a click the browser names no opener.
func (c *Context) fromPage(opener target.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return opener != "" || c.asked == 0
}
