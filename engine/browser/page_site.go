package browser

import (
	"strings"

	"github.com/chromedp/cdproto/network"
)

// heads takes in which document the tab is about to request.
func (nav *Navigation) heads(address string) {
	nav.mu.Lock()
	nav.toward = address
	nav.mu.Unlock()
}

// site is the address of the document that the tab shows, or is about to.
func (nav *Navigation) site() string {
	nav.mu.Lock()
	defer nav.mu.Unlock()
	if WebOrigin(nav.address) == "" && nav.toward != "" {
		return nav.toward
	}
	return nav.address
}

// siteFor is site for a request. The first requests of a new document may be reported
// before the document is: they name it as where they come from.
func (nav *Navigation) siteFor(r *network.Request) string {
	nav.mu.Lock()
	toward := nav.toward
	nav.mu.Unlock()
	for name, v := range r.Headers {
		if from, ok := v.(string); ok && toward != "" && strings.EqualFold(name, "Referer") && siteOf(from) == siteOf(toward) {
			return toward
		}
	}
	return nav.site()
}
