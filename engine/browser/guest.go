package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// Guest is another client of the browser, which uses the tabs of one context beside us. It has a
// root session of its own, below which everything is that it attaches to: so all of it ends with
// that session. What a guest may ask for is not decided here.
type Guest struct {
	b    *Browser
	c    *Context
	root *session
	hear func(GuestMessage)

	mu       sync.Mutex
	contexts map[cdp.BrowserContextID]bool // that it has made
	opened   map[target.SessionID]*session
	pages    map[target.SessionID]bool   // that are open in them
	holds    bool                        // it has new pages held until it resumes them
	held     map[target.ID]chan struct{} // by page, closed when it does
	ended    bool
}

// GuestMessage is an event for a guest.
type GuestMessage struct {
	Session string // empty: its root session
	Method  string
	Params  []byte // with long texts cut
	Whole   []byte // the message as it came; nil: it is too large
}

// GuestAnswer is the answer to a command of a guest.
type GuestAnswer struct {
	Lost  bool   // there is none: the session or the browser has gone
	Whole []byte // the message as it came; nil: it is too large
}

// Bounds of a guest.
const (
	guestHolds  = 3 * time.Second  // a new page that it does not resume
	guestAsked  = 60 * time.Second // a dialog that it does not answer
	guestLeaves = 5 * time.Second  // for what it has changed to be put right
)

// ErrShared is the error of a guest for a browser that others use, too.
var ErrShared = errors.New("the browser is shared")

// NewGuest lets a guest into a context. All events of its sessions go to hear, on the reader's
// goroutine, which must not be blocked.
func (c *Context) NewGuest(ctx context.Context, hear func(GuestMessage)) (*Guest, error) {
	b := c.b
	g := &Guest{b: b, c: c, hear: hear, contexts: map[cdp.BrowserContextID]bool{}, opened: map[target.SessionID]*session{}, held: map[target.ID]chan struct{}{}, pages: map[target.SessionID]bool{}}
	b.mu.Lock()
	alone := len(b.contexts) == 1 && b.contexts[string(c.id)] == c && b.guest == nil
	if alone {
		b.guest = g
	}
	b.mu.Unlock()
	if !alone {
		return nil, ErrShared
	}
	c.Touch()
	b.conn.wire.whole.Store(true)
	c.guest.Store(g)
	var made target.AttachToBrowserTargetResult
	if err := b.root.call(ctx, target.CommandAttachToBrowserTarget, nil, &made); err != nil {
		g.forget()
		return nil, fmt.Errorf("opening a session with the browser: %w", err)
	}
	g.root = g.open(made.SessionID)
	return g, nil
}

// Context is the name of the context that it was let into.
func (g *Guest) Context() string { return string(g.c.id) }

// DownloadPath is where downloads of the context go.
func (g *Guest) DownloadPath() string { return g.c.downloadPath() }

// Bounded reports whether the pages of the context are bound to sites, or their requests to rules:
// a context that the guest makes would have neither.
func (g *Guest) Bounded() bool { return g.c.Sites.bounded() || g.c.requestRules() != nil }

// MayShow reports whether a page may be at an address.
func (g *Guest) MayShow(address string) bool { return g.c.Sites.Allow(address) }

func (g *Guest) open(id target.SessionID) *session {
	name := string(id)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.root == nil {
		name = ""
	}
	g.opened[id] = g.b.conn.add(&session{conn: g.b.conn, id: id, onWhole: func(m *message) {
		g.hear(GuestMessage{name, string(m.Method), m.Params, m.whole})
	}})
	return g.opened[id]
}

// Open takes in a session that the browser has announced to the guest. It is called while the
// announcement is heard, so that no event of the session is missed.
func (g *Guest) Open(id string) { g.open(target.SessionID(id)) }

// Drop takes in that a session has ended. Calls that wait for it have no answer.
func (g *Guest) Drop(id string) {
	g.mu.Lock()
	delete(g.opened, target.SessionID(id))
	g.mu.Unlock()
	g.b.conn.drop(target.SessionID(id))
}

// Root is the name of the root session, which the guest does not know.
func (g *Guest) Root() string { return string(g.root.id) }

// Send sends a command to a session of the guest; the empty one is its root. The answer comes on
// the reader's goroutine, in its order among the events.
func (g *Guest) Send(id, method string, params []byte, answered func(GuestAnswer)) {
	s := g.root
	if id != "" {
		g.mu.Lock()
		s = g.opened[target.SessionID(id)]
		g.mu.Unlock()
	}
	if s == nil {
		answered(GuestAnswer{Lost: true})
		return
	}
	p := &pending{conn: s.conn, on: s.id, name: method, told: func(m *message) {
		if m == nil {
			answered(GuestAnswer{Lost: true})
			return
		}
		answered(GuestAnswer{Whole: m.whole})
	}}
	if !s.conn.put(p, &cdproto.Message{SessionID: s.id, Method: cdproto.MethodType(method), Params: jsonv2.Value(params)}) {
		answered(GuestAnswer{Lost: true})
	}
}

// LetGo leaves alone what the browser has attached to a session of the guest and holds for it.
func (g *Guest) LetGo(parent, id string) {
	s := g.root
	if parent != "" {
		g.mu.Lock()
		s = g.opened[target.SessionID(parent)]
		g.mu.Unlock()
	}
	if s != nil {
		g.b.letGo(s, &target.EventAttachedToTarget{SessionID: target.SessionID(id)})
	}
}

// Adopt takes in a context that the guest has made, or that it has removed.
func (g *Guest) Adopt(id string, made bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if made {
		g.contexts[cdp.BrowserContextID(id)] = true
	} else {
		delete(g.contexts, cdp.BrowserContextID(id))
	}
}

// hosts reports whether the guest has made a context. What comes while one is made is its own,
// too: there is nobody else.
func (g *Guest) hosts(id cdp.BrowserContextID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.contexts[id]
}

// visited takes in a page or a worker in a context that the guest has made. We have no use for it.
func (g *Guest) visited(e *target.EventAttachedToTarget) {
	if e.TargetInfo.Type != "page" {
		g.b.letGo(g.b.root, e)
		return
	}
	g.mu.Lock()
	g.pages[e.SessionID] = true
	many := len(g.pages) > maxTabs
	g.mu.Unlock()
	if many {
		g.b.closeTab(e.TargetInfo.TargetID)
		return
	}
	goOnAfter(g.b.conn.open(e.SessionID, nil), nil, g.resumes(e.TargetInfo.TargetID))
}

// leaves takes in that such a page has closed.
func (g *Guest) leaves(id target.SessionID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pages, id)
}

// Hold says whether the guest has new pages held until it resumes them.
func (g *Guest) Hold(yes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = yes
}

// Resume says that the guest lets a page go on.
func (g *Guest) Resume(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.goOn(target.ID(id))
}

func (g *Guest) goOn(id target.ID) {
	if c := g.held[id]; c != nil {
		delete(g.held, id)
		close(c)
	}
}

// resumes is closed when a new page may go on, as far as the guest is concerned: a popup goes on as
// soon as one of all who hold it lets it, and the guest would miss its first scripts. Nil: at once.
func (g *Guest) resumes(id target.ID) <-chan struct{} {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.holds || g.ended {
		return nil
	}
	if g.held[id] == nil {
		g.held[id] = make(chan struct{})
		time.AfterFunc(guestHolds, func() { g.Resume(string(id)) })
	}
	return g.held[id]
}

// asked leaves a dialog to the guest, for as long as that may take.
func (g *Guest) asked(t *Tab, e *page.EventJavascriptDialogOpening) {
	t.mu.Lock()
	t.dialog = e
	t.mu.Unlock()
	time.AfterFunc(guestAsked, func() { t.answerLeft(e) })
}

// answerLeft answers a dialog that is still open.
func (t *Tab) answerLeft(e *page.EventJavascriptDialogOpening) {
	t.mu.Lock()
	open := t.dialog == e && e != nil
	if open {
		t.dialog = nil
	}
	t.mu.Unlock()
	if open {
		t.answerNow(e)
	}
}

func (t *Tab) dialogClosed() {
	t.mu.Lock()
	t.dialog = nil
	t.mu.Unlock()
}

// forget ends what the browser does for the guest.
func (g *Guest) forget() {
	g.mu.Lock()
	g.ended = true
	for id := range g.held {
		g.goOn(id)
	}
	g.mu.Unlock()
	g.c.guest.Store(nil)
	g.b.conn.wire.whole.Store(false)
	g.b.mu.Lock()
	if g.b.guest == g {
		g.b.guest = nil
	}
	g.b.mu.Unlock()
}

// Close ends all sessions of the guest and its contexts, and puts right what it has changed and
// tasks rely on.
func (g *Guest) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, guestLeaves)
	defer cancel()
	g.mu.Lock()
	var contexts []cdp.BrowserContextID
	for id := range g.contexts {
		contexts = append(contexts, id)
	}
	g.mu.Unlock()
	var sent []*pending
	for _, id := range contexts {
		sent = append(sent, g.b.root.send(target.CommandDisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: id}))
	}
	left := g.b.root.call(ctx, target.CommandDetachFromTarget, target.DetachFromTargetParams{SessionID: g.root.id}, nil)
	g.mu.Lock()
	var opened []target.SessionID
	for id := range g.opened {
		opened = append(opened, id)
	}
	g.mu.Unlock()
	for _, id := range opened {
		g.Drop(string(id))
	}
	for _, p := range sent {
		_ = p.wait(ctx, nil) // those that are gone already are gone
	}
	g.forget()
	if left != nil {
		return fmt.Errorf("ending the session of a guest: %w", left)
	}
	return g.c.restoreAfterGuest(ctx)
}

// restoreAfterGuest sends again what the browser forgets when a guest has set it and leaves.
func (c *Context) restoreAfterGuest(ctx context.Context) error {
	sent := c.begin()
	w, h := c.Size()
	for _, t := range c.Tabs() {
		t.mu.Lock()
		asked := t.dialog
		t.mu.Unlock()
		t.answerLeft(asked)
		sent = append(sent, t.sendSize(w, h), t.s.send(emulation.CommandSetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	}
	var first error
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil && !errors.Is(err, ErrDetached) && first == nil {
			first = fmt.Errorf("putting right what a guest has changed: %w", err)
		}
	}
	if s := c.Surrounded(); s != nil && first == nil {
		first = c.Surround(ctx, s)
	}
	return first
}

// Pages are the names of the context's tabs.
func (c *Context) Pages() (all []string) {
	for _, t := range c.Tabs() {
		all = append(all, string(t.id))
	}
	slices.Sort(all)
	return all
}
