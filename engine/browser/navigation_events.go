package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// Events of the navigations of a tab, on the reader's goroutine.

// commits: the tab shows a new document.
func (nav *Navigation) commits(e *page.EventFrameNavigated) {
	nav.asked.Store(false)
	nav.mu.Lock()
	defer nav.mu.Unlock()
	nav.document, nav.complete, nav.bare = e.Frame.LoaderID, false, false
	nav.address, nav.failed, nav.broken = e.Frame.URL, e.Frame.UnreachableURL, ""
	nav.arrives()
	close(nav.navigated)
	nav.navigated = make(chan struct{})
}

// completes: the document's load event was.
func (nav *Navigation) completes() {
	nav.mu.Lock()
	nav.complete = true
	nav.mu.Unlock()
}

// awaitDocument returns when the tab shows the document of a navigation, or ctx ends.
func (nav *Navigation) awaitDocument(ctx context.Context, of cdp.LoaderID) {
	for {
		nav.mu.Lock()
		there, navigated := nav.document == of, nav.navigated
		nav.mu.Unlock()
		if there {
			return
		}
		select {
		case <-navigated:
		case <-nav.tab.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
