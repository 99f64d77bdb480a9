package browser

import "github.com/chromedp/cdproto/page"

// What the browser tells of the navigations of a tab, on the reader's goroutine.

func (nav *Navigation) begins(e *page.EventFrameStartedNavigating) {
	if e.FrameID != nav.tab.mainFrame() {
		return
	}
	nav.mu.Lock()
	defer nav.mu.Unlock()
	nav.heading, nav.began = e.LoaderID, true
	close(nav.started)
	nav.started = make(chan struct{})
}

func (nav *Navigation) loads(e *page.EventFrameStartedLoading) {
	if e.FrameID != nav.tab.mainFrame() {
		return
	}
	nav.mu.Lock()
	nav.loading = true
	nav.mu.Unlock()
}

func (nav *Navigation) stops(e *page.EventFrameStoppedLoading) {
	if e.FrameID != nav.tab.mainFrame() {
		return
	}
	nav.mu.Lock()
	defer nav.mu.Unlock()
	nav.loading, nav.rested = false, true
	close(nav.stopped)
	nav.stopped = make(chan struct{})
}

// requested: something in the page has asked to go to another document.
func (nav *Navigation) requested(e *page.EventFrameRequestedNavigation) {
	if e.FrameID != nav.tab.mainFrame() || e.Disposition != page.ClientNavigationDispositionCurrentTab {
		return
	}
	nav.mu.Lock()
	nav.began = false
	nav.mu.Unlock()
	nav.asked.Store(true)
}

// commits: the tab shows a new document.
func (nav *Navigation) commits(e *page.EventFrameNavigated) {
	nav.asked.Store(false)
	nav.mu.Lock()
	defer nav.mu.Unlock()
	nav.document, nav.complete, nav.bare = e.Frame.LoaderID, false, false
	nav.address, nav.failed, nav.broken = e.Frame.URL, e.Frame.UnreachableURL, ""
	close(nav.navigated)
	nav.navigated = make(chan struct{})
}

// completes: the document's load event was.
func (nav *Navigation) completes() {
	nav.mu.Lock()
	nav.complete = true
	nav.mu.Unlock()
}
