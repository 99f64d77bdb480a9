package browser

import (
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// Tab is one page with its frames. Its parts have types of their own, each with
// its lock.
type Tab struct {
	Script     PageScript
	Navigation Navigation
	Input      Input
	FileInputs FileInputs

	context *Context
	id      target.ID
	number  int // in the order in which the context's tabs were opened
	s       *session
	bodies  bodySession
	remote  remoteFrames
	ready   *pending      // the last command of setUp
	closed  chan struct{} // closed with the tab
	fallen  chan struct{} // closed when the page's process has died

	replaying atomic.Bool          // the browser tells once more what was said to the console
	cast      atomic.Pointer[cast] // nil: there is no screencast of it

	mu      sync.Mutex
	frames  map[string]bool
	stubbed bool // requests are answered with an empty page
	crashed bool
	opener  target.ID                                 // the page that opened it, where that is known
	dialog  *page.EventJavascriptDialogOpening        // that is open and left to a guest
	byPage  bool                                      // a page has opened it
	shown   bool                                      // it has had a document that is not blank
	worlds  chan runtime.EventExecutionContextCreated // nil unless somebody looks for a world in one of its processes
}

// empty reports whether a page has opened the tab and nothing was ever shown in it.
func (t *Tab) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byPage && !t.shown
}

// own: we have opened the tab, and it is ready.
func (t *Tab) own() {
	t.mu.Lock()
	t.byPage = false
	t.mu.Unlock()
	t.Navigation.mu.Lock()
	t.Navigation.popup = false
	t.Navigation.mu.Unlock()
}

// blank is the address of the page that every tab begins with.
const blank = "about:blank"

func newTab(c *Context, id target.ID) *Tab {
	t := &Tab{context: c, id: id, frames: map[string]bool{}, closed: make(chan struct{}), fallen: make(chan struct{})}
	t.Script.tab, t.Input.tab, t.FileInputs.tab, t.bodies.tab, t.remote.tab, t.Navigation.tab = t, t, t, t, t, t
	t.Navigation.prepare()
	t.Navigation.navigated = make(chan struct{})
	t.Script.moves = &t.Navigation.moves
	return t
}

// setUp sends what every tab needs before its first script runs. Nothing is
// waited for: a tab that is asked to do something answers after all of it.
func (t *Tab) setUp() {
	w, h := t.context.Size()
	t.s.send(page.CommandEnable, page.EnableParams{}) // dialogs, and when loading stops
	t.sendSize(w, h)
	t.s.send(emulation.CommandSetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if r := t.context.Network.current(); r != nil {
		t.enableNetwork(r.wantsBodies())
	}
	if l := t.context.logging(); l != nil {
		t.startLog(l, t.context.Network.current() != nil)
	}
	if t.context.requestRules() != nil {
		t.remote.watch()
	}
	t.holdRequests()
	s, g := t.context.Surrounded(), t.context.guest.Load()
	if s != nil || g != nil {
		var sent []*pending
		if s != nil {
			t.remote.watch()
			sent = s.page(t)
		}
		t.ready = goOnAfter(t.s, sent, g.resumes(t.id))
		return
	}
	t.ready = t.s.send(runtime.CommandRunIfWaitingForDebugger, nil)
}

func (t *Tab) sendSize(w, h int) *pending {
	size := emulation.SetDeviceMetricsOverrideParams{Width: int64(w), Height: int64(h), DeviceScaleFactor: 1}
	if s := t.context.Surrounded(); s != nil && s.Device != nil {
		s.Device.shape(&size)
	}
	return t.s.send(emulation.CommandSetDeviceMetricsOverride, size)
}

func (t *Tab) hasFrame(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[id]
}

// Crashed reports whether the page's process has died.
func (t *Tab) Crashed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crashed
}

// Closed reports whether the tab has closed.
func (t *Tab) Closed() bool {
	select {
	case <-t.closed:
		return true
	default:
		return false
	}
}

// Interrupt ends scripts that run without end.
func (t *Tab) Interrupt() {
	t.everyProcess(func(s *session) { s.send(runtime.CommandTerminateExecution, nil) })
}

func (t *Tab) mainFrame() cdp.FrameID { return cdp.FrameID(t.id) }
