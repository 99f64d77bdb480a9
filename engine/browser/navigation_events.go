package browser

import (
	"cmp"
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
	nav.document, nav.complete = e.Frame.LoaderID, false
	nav.address, nav.failed, nav.broken = e.Frame.URL, e.Frame.UnreachableURL, ""
	nav.arrives()
	close(nav.navigated)
	nav.navigated = make(chan struct{})
}

// Somewhere reports whether the tab shows a page at all, and not the blank one that it
// begins with.
func (nav *Navigation) Somewhere() bool { at := nav.Shows(); return at != "" && at != blank }

// Shows is the address of the current document, as it was when that began; of an error page of
// the browser, the one that could not be reached.
func (nav *Navigation) Shows() string {
	nav.mu.Lock()
	defer nav.mu.Unlock()
	return cmp.Or(nav.failed, nav.address)
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
