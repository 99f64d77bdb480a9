package browser

import (
	"context"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/target"
)

// RehearseActions is rehearseActions, for the tests from outside.
func (t *Tab) RehearseActions(ctx context.Context) (well int, err error) {
	return t.Script.rehearseActions(ctx)
}

// AskedToLeave is the browser's word that the page was asked to leave.
func (t *Tab) AskedToLeave() {
	t.event("Page.frameRequestedNavigation", []byte(`{"frameId":"`+string(t.id)+`","reason":"formSubmissionGet","url":"http://a.test/","disposition":"currentTab"}`))
}

func ForgetHelp() { helped.Store(false) }

// UnderWay is how many requests of the context are remembered.
func (c *Context) UnderWay() int {
	r := c.Network.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.active)
}

// FramesKnown is how many frames of the tab are.
func (t *Tab) FramesKnown() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames)
}

const MaxActive = maxActive

// CrashFrames ends the processes of the tab's frames of other sites.
func (t *Tab) CrashFrames() (n int) {
	for _, s := range t.remote.sessions() {
		s.send("Page.crash", nil)
		n++
	}
	return n
}

// FrameSessions is how many frames in processes of their own the tab knows, and how
// many sessions its browser has in all.
func (t *Tab) FrameSessions() (frames, all int) {
	c := t.context.b.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(t.remote.sessions()), len(c.sessions)
}

// Perceived is what an element is to the page script, and to the browser's own tree.
type Perceived struct {
	N, Role, Name        string
	Hidden               bool
	TheirRole, TheirName string
	TheyIgnore, TheyKnow bool
	HTML                 string
}

// Perceive compares all elements with the attribute data-n.
func (t *Tab) Perceive(ctx context.Context) ([]Perceived, error) {
	var all []Perceived
	at, err := t.Script.enter(ctx)
	if err != nil {
		return nil, err
	}
	t.Script.give(at, actions)
	t.Script.give(at, moreActions)
	t.Script.give(at, locators)
	err = t.Script.evaluate(ctx, `JSON.stringify([...document.querySelectorAll('[data-n]')].map((el) => ({N: el.getAttribute('data-n'), Role: roleOf(el), Name: accName(el), Hidden: unperceived(el), HTML: el.outerHTML.slice(0, 300)})))`, &all)
	if err != nil {
		return nil, err
	}
	depth, pierce := int64(-1), true
	var doc dom.GetDocumentResult
	if err := at.s.call(ctx, dom.CommandGetDocument, dom.GetDocumentParams{Depth: &depth, Pierce: &pierce}, &doc); err != nil {
		return nil, err
	}
	numbers := map[cdp.BackendNodeID]string{}
	var walk func(n *cdp.Node)
	walk = func(n *cdp.Node) {
		if n == nil {
			return
		}
		for i := 0; i+1 < len(n.Attributes); i += 2 {
			if n.Attributes[i] == "data-n" {
				numbers[n.BackendNodeID] = n.Attributes[i+1]
			}
		}
		for _, c := range append(n.Children, n.ShadowRoots...) {
			walk(c)
		}
	}
	walk(doc.Root)
	var tree struct {
		Nodes []struct {
			Ignored bool `json:"ignored"`
			Role    struct {
				Value string `json:"value"`
			} `json:"role"`
			Name struct {
				Value string `json:"value"`
			} `json:"name"`
			ID cdp.BackendNodeID `json:"backendDOMNodeId"`
		} `json:"nodes"`
	}
	if err := at.s.call(ctx, "Accessibility.getFullAXTree", nil, &tree); err != nil {
		return nil, err
	}
	for _, n := range tree.Nodes {
		for i := range all {
			if all[i].N == numbers[n.ID] && numbers[n.ID] != "" {
				all[i].TheirRole, all[i].TheirName, all[i].TheyIgnore, all[i].TheyKnow = n.Role.Value, n.Name.Value, n.Ignored, true
			}
		}
	}
	return all, nil
}

// WorldsInFrames is how many frames of other sites have our world, once those have it
// that are about to.
func (t *Tab) WorldsInFrames(ctx context.Context) (n int, err error) {
	for _, ps := range t.remote.asked() {
		at, err := ps.made(ctx, ps.session())
		if err != nil {
			return 0, err
		}
		if at.s != nil {
			n++
		}
	}
	return n, nil
}

// The end of a process group, for tests.
var (
	EndGroup   = endGroup
	AwaitGroup = awaitGroup
)

// NewTabTries is newTabTries, for the tests from outside.
const NewTabTries = newTabTries

// NewTabThatDies opens a tab whose process dies so many times before it is ready. Left is how
// many of these deaths did not come.
func (c *Context) NewTabThatDies(ctx context.Context, deaths int) (t *Tab, left int, err error) {
	conn := c.b.conn
	conn.mu.Lock()
	known := map[target.SessionID]bool{}
	for id := range conn.sessions {
		known[id] = true
	}
	conn.mu.Unlock()
	left = deaths
	conn.watchCommands(func(name string) { // with the lock, before the command goes out
		if name != emulation.CommandSetFocusEmulationEnabled {
			return
		}
		for id := range conn.sessions {
			if !known[id] && left > 0 {
				known[id] = true
				left--
				conn.next++
				conn.queue = append(conn.queue, &cdproto.Message{ID: conn.next, SessionID: id, Method: "Page.crash"})
			}
		}
	})
	defer conn.watchCommands(nil)
	t, err = c.NewTab(ctx)
	return t, left, err
}
