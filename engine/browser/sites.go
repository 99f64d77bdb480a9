package browser

import (
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// Sites bounds which sites the pages of a context may be from. The documents of tabs are
// held before anything is sent to their servers, also those that a redirect leads to, and
// those of tabs that a page opens. What comes without a request, as from the history or a
// service worker, is left as soon as it shows.
type Sites struct {
	context *Context

	mu      sync.Mutex
	lists   []siteList
	refused func(address string) // nil: nobody wants to know
}

// siteList is one list, and what it allows. A page must be in each list.
type siteList struct {
	spelled []string
	allows  func(address string) bool
}

// Add bounds the pages of the context by a further list, for as long as it lives. It
// returns the addresses of tabs that are elsewhere: these are left.
func (b *Sites) Add(spelled []string, allows func(address string) bool) (left []string) {
	b.mu.Lock()
	if !slices.ContainsFunc(b.lists, func(l siteList) bool { return slices.Equal(l.spelled, spelled) }) {
		b.lists = append(b.lists, siteList{slices.Clone(spelled), allows})
	}
	b.mu.Unlock()
	for _, t := range b.context.Tabs() {
		t.holdRequests()
		t.Navigation.mu.Lock()
		address := t.Navigation.address
		t.Navigation.mu.Unlock()
		if !b.Allow(address) {
			t.leave()
			left = append(left, address)
		}
	}
	return left
}

// Lists are the lists so far.
func (b *Sites) Lists() (all [][]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lists {
		all = append(all, l.spelled)
	}
	return all
}

// OnRefused sets who hears of addresses that pages may not go to; nil: nobody.
func (b *Sites) OnRefused(f func(address string)) {
	b.mu.Lock()
	b.refused = f
	b.mu.Unlock()
}

// Allow reports whether a page may be at an address. What has no site, as a blank page,
// may always be.
func (b *Sites) Allow(address string) bool {
	if !b.bounded() || WebOrigin(strings.TrimPrefix(address, "blob:")) == "" {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !slices.ContainsFunc(b.lists, func(l siteList) bool { return !l.allows(address) })
}

// AllowFrame reports whether a frame may be looked into, by its address alone. Nobody
// knows who has written what a data: address shows.
func (b *Sites) AllowFrame(address string) bool {
	return b.Allow(address) && !(b.bounded() && strings.HasPrefix(address, "data:"))
}

func (b *Sites) bounded() bool { return b.count() > 0 }

// count is how many lists there are. They only become more.
func (b *Sites) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lists)
}

// refuse reports an address that a page may not go to.
func (b *Sites) refuse(address string) {
	b.mu.Lock()
	told := b.refused
	b.mu.Unlock()
	if told != nil {
		told(address)
	}
}

// holdRequests lets the tab ask before it requests a document, or what else there are
// rules for.
func (t *Tab) holdRequests() []*pending {
	t.mu.Lock()
	stubbed := t.stubbed
	t.mu.Unlock()
	if stubbed {
		return nil // its end does it
	}
	if r := t.context.requestRules(); r != nil {
		return r.hold(t.s)
	}
	if !t.context.Sites.bounded() {
		return nil
	}
	return []*pending{t.s.send(fetch.CommandEnable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageRequest},
	}})}
}

// letGo lets a held request go on, unless a rule decides otherwise or it would bring the
// tab to another site. The tab stays where it was then.
func (t *Tab) letGo(s *session, e *fetch.EventRequestPaused) {
	main := e.FrameID == t.mainFrame() && e.ResourceType == network.ResourceTypeDocument && e.Request != nil
	if main && !t.context.Sites.Allow(e.Request.URL) {
		t.context.Sites.refuse(e.Request.URL)
		s.send(fetch.CommandFailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonAborted})
		return
	}
	if r := t.context.requestRules(); r != nil && e.Request != nil {
		if main {
			t.Navigation.heads(e.Request.URL)
		}
		t.context.unread.decide(r, t, s, e, t.Navigation.siteFor(e.Request), main)
		return
	}
	s.send(fetch.CommandContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
}

// shows takes in which document the tab shows now.
func (t *Tab) shows(address string) {
	if !t.context.Sites.Allow(address) {
		t.context.Sites.refuse(address)
		t.leave()
	}
}

func (t *Tab) leave() { t.s.send(page.CommandNavigate, page.NavigateParams{URL: blank}) }
