package browser

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"troupe/engine/mask"
)

var decodeOptions = chromedp.DefaultUnmarshalOptions

// maxTabs bounds what a page can open. Popups beyond are closed at once.
const maxTabs = 20

// maxExcess is how many tabs beyond may be asked for before something is done
// about the pages that ask.
const maxExcess = 30

// Context is a browser as one task or session sees it: its own cookies,
// storage and cache, and its tabs. Nothing of it is left when it was closed.
type Context struct {
	Transfers Transfers
	Network   Network
	Cookies   CookieJar
	Journal   Journal
	Dialogs   DialogRules
	Snapshots Snapshots
	Sites     Sites
	unread    unreadRequests

	b    *Browser
	id   cdp.BrowserContextID
	mask atomic.Pointer[mask.Masker] // nil: there are no secrets

	guest atomic.Pointer[Guest] // that uses its tabs, too; nil: none

	gone chan struct{} // closed when it was closed or its browser has died

	mu         sync.Mutex
	tabs       []*Tab // the last one is the current tab
	changed    chan struct{}
	width      int
	height     int
	err        error
	excess     int       // tabs that were closed because there were too many
	asked      int       // tabs that we are opening
	expected   int       // tabs that pages have asked for and that are not there yet
	expectedAt time.Time // when the last of them was asked for
	opened     int       // tabs that were opened so far
	used       bool
	handled    bool                                 // a document of it was given what aims and fills
	log        *Log                                 // nil unless somebody wants to know what pages say and ask for
	around     *Surroundings                        // nil: what the browser has by itself
	rules      *RequestRules                        // nil: requests go their way
	attend     bool                                 // its workers are reported
	workers    []*session                           // that are attached to
	tried      []string                             // requests that were given a login
	casting    chan struct{}                        // held by the screencast that runs
	beside     map[target.ID]*Tab                   // tabs that have been asked for a second session
	explain    func(url string) (name, text string) // nil: nobody knows more than the browser
	keeping    *keeping                             // nil: it is replaced after its task
}

// NewContext makes a context with one blank tab. All its traffic goes through a
// proxy at host:port; empty: the browser's own.
func (b *Browser) NewContext(ctx context.Context, proxy string) (*Context, error) {
	if root, err := b.openFolder(); err != nil {
		return nil, fmt.Errorf("opening the browser's folder: %w", err)
	} else {
		root.Close()
	}
	var made target.CreateBrowserContextResult
	var params target.CreateBrowserContextParams
	if proxy != "" {
		params.ProxyServer, params.ProxyBypassList = proxy, noBypass
	}
	if err := b.root.call(ctx, target.CommandCreateBrowserContext, params, &made); err != nil {
		return nil, fmt.Errorf("making a browser context: %w", err)
	}
	c := &Context{b: b, id: made.BrowserContextID, gone: make(chan struct{}), changed: make(chan struct{}), width: DefaultWidth, height: DefaultHeight,
		casting: make(chan struct{}, 1), beside: map[target.ID]*Tab{}}
	c.Transfers = Transfers{context: c, active: map[string]*Download{}}
	c.Network.context, c.Cookies.context, c.Journal.context, c.Snapshots.context, c.Sites.context, c.unread.context = c, c, c, c, c, c
	b.mu.Lock()
	b.contexts[string(c.id)] = c
	b.mu.Unlock()
	c.begin()
	if _, err := c.NewTab(ctx); err != nil {
		c.Close(ctx)
		return nil, err
	}
	return c, nil
}

// begin sends what holds for the whole context from its beginning.
func (c *Context) begin() []*pending {
	events := true
	return []*pending{
		c.b.root.send(browser.CommandSetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, BrowserContextID: c.id, DownloadPath: c.downloadPath(), EventsEnabled: &events,
		}),
		// As in a browser with a window, a button may copy without a question. Pasting
		// without a key stays refused: it needs a person's word.
		c.b.root.send(browser.CommandSetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "clipboard-write"}, Setting: browser.PermissionSettingGranted, BrowserContextID: c.id,
		}),
	}
}

func (c *Context) downloadPath() string { return filepath.Join(c.b.dir, c.Transfers.downloadDir()) }

// Tab returns the current tab. If the page has closed all of them, it opens a
// blank one.
func (c *Context) Tab(ctx context.Context) (*Tab, error) {
	if err := c.awaitExpected(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	t, err := c.top(), c.err
	c.used = true
	c.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case t != nil:
		return t, nil
	}
	return c.NewTab(ctx)
}

// Current is the current tab, nil where there is none. Looking is not using:
// nothing is opened for it.
func (c *Context) Current() *Tab {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.top()
}

// top is Current for a caller that holds c.mu.
func (c *Context) top() *Tab {
	if n := len(c.tabs); n > 0 {
		return c.tabs[n-1]
	}
	return nil
}

// Tabs returns the open tabs, the current one last.
func (c *Context) Tabs() []*Tab {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tabs)
}

// CloseOthers closes every tab but the one given, and returns when they are
// closed or have had their time.
func (c *Context) CloseOthers(ctx context.Context, keep *Tab) {
	var closing []*pending
	for _, t := range c.Tabs() {
		if t != keep {
			closing = append(closing, c.b.closeTab(t.id))
			c.lost(t)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	for _, p := range closing {
		_ = p.wait(ctx, nil) // a tab that closed itself meanwhile is closed too
	}
}

// Used reports whether a task may have left anything behind.
func (c *Context) Used() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// Close disposes of the context: tabs, cookies, storage, downloads.
func (c *Context) Close(ctx context.Context) error {
	c.b.mu.Lock()
	delete(c.b.contexts, string(c.id))
	c.b.mu.Unlock()
	c.mu.Lock()
	attended := c.attend
	c.attend, c.around, c.rules = false, nil, nil
	c.end(ErrDetached)
	for _, t := range c.tabs {
		t.Interrupt() // a page that runs a script without end does not close until it has had its time
	}
	c.mu.Unlock()
	if attended {
		c.b.watchWorkers(-1)
	}
	err := c.b.root.call(ctx, target.CommandDisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: c.id}, nil)
	if rmErr := c.Transfers.removeFiles(); err == nil {
		err = rmErr
	}
	if err != nil {
		return fmt.Errorf("closing a browser context: %w", err)
	}
	return nil
}

// end makes every later call fail. The caller holds c.mu.
func (c *Context) end(err error) {
	if c.err == nil {
		c.err = err
		close(c.gone)
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// took adds a tab on top: the one that was asked for, or a popup.
func (c *Context) took(t *Tab) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.byPage && t.opener == "" {
		c.came()
	}
	if t.opener != "" && !c.has(t.opener) {
		// Its page was closed meanwhile, and what is left of that must not come
		// between a task and its tab.
		c.b.closeTab(t.id)
		return
	}
	limit := maxTabs
	if t.opener == "" && c.asked > 0 {
		limit = 2 * maxTabs // it may be the one that we have asked for
	}
	if len(c.tabs) >= limit {
		c.b.closeTab(t.id)
		c.excess++
		c.floods(t)
		return
	}
	c.opened++
	t.number = c.opened
	c.tabs = append(c.tabs, t)
	c.notify()
}

// besides is the tab whose second session begins, nil where none was asked for.
func (c *Context) besides(id target.ID) *Tab {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beside[id]
}

// has reports whether a tab is open; the caller holds c.mu.
func (c *Context) has(id target.ID) bool {
	return slices.ContainsFunc(c.tabs, func(t *Tab) bool { return t.id == id })
}

// floods stops pages that open tabs without end, which would leave the browser
// no time for anything else: what runs is ended, and a page that goes on all the
// same is left. The caller holds c.mu.
func (c *Context) floods(last *Tab) {
	if c.excess%maxExcess != 0 {
		return
	}
	what := "their scripts were ended"
	for _, t := range c.tabs {
		if last.opener != "" && t.id != last.opener {
			continue
		}
		if c.excess == maxExcess {
			t.Interrupt()
		} else {
			what = "they were left"
			t.s.send(page.CommandNavigate, page.NavigateParams{URL: blank})
		}
	}
	c.Journal.Note("pages opened more tabs than the %d that are kept, %d more: %s", maxTabs, c.excess, what)
}

// raise makes t the current tab; the caller holds c.mu.
func (c *Context) raise(t *Tab) {
	i := slices.Index(c.tabs, t)
	if i < 0 || i == len(c.tabs)-1 {
		return
	}
	c.tabs = append(slices.Delete(c.tabs, i, i+1), t)
	c.notify()
}

// lost takes out a tab that has closed.
func (c *Context) lost(t *Tab) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.beside, t.id)
	if i := slices.Index(c.tabs, t); i >= 0 {
		c.tabs = slices.Delete(c.tabs, i, i+1)
		c.notify()
	}
}

// notify reports a change; the caller holds c.mu.
func (c *Context) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Mask sets the masker that takes secrets out of the texts of pages from now on.
func (c *Context) Mask(m *mask.Masker) { c.mask.Store(m) }

// clean makes a text of a page one that can be cut and handed out.
func (c *Context) clean(s string) mask.Text { return c.mask.Load().Text(s) }

// ForgetElements drops the elements that an earlier task has saved, if there was
// one.
func (c *Context) ForgetElements() {
	if c.Used() {
		c.tell("forget")
	}
}

// Abort ends whatever still waits in the pages of a task that is over.
func (c *Context) Abort() { c.tell("abort") }

func (c *Context) tell(fn string) {
	for _, t := range c.Tabs() {
		t.Script.Tell(fn + "()")
		for _, ps := range t.remote.asked() {
			ps.Tell(fn + "()")
		}
	}
}

// Gone is closed when the context was closed or its browser has died.
func (c *Context) Gone() <-chan struct{} { return c.gone }

// Crashed reports whether the process of the current tab's page has died.
func (c *Context) Crashed() bool {
	t := c.Current()
	return t != nil && t.Crashed()
}

// Fallen is closed when the process of the page dies that is the current tab's
// now. It is nil without a tab.
func (c *Context) Fallen() <-chan struct{} {
	if t := c.Current(); t != nil {
		return t.fallen
	}
	return nil
}
