package browser

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// remoteFrames are the frames of a tab that are in processes of their own, since
// they show another site. Each has a session of its own. The browser reports them
// once it is asked to, which a tab that nobody looks into never does.
type remoteFrames struct {
	tab *Tab

	mu      sync.Mutex
	known   <-chan struct{} // closed when the browser has reported those in the tab itself; nil: it was not asked
	count   int             // of all that there have been
	frames  map[cdp.FrameID]*remoteFrame
	scripts map[cdp.FrameID]*PageScript // of the frames that were asked for something, whichever process they are in
	moving  map[cdp.FrameID]*moves      // how all frames but the main one move, of which the browser has told that
}

// remoteFrame is one of them.
type remoteFrame struct {
	tab     *Tab
	id      cdp.FrameID
	number  int         // grows with each that comes
	around  cdp.FrameID // the frame that it is in
	s       *session
	parent  *session        // of the process that holds the frame around it
	known   <-chan struct{} // closed when the browser has reported those in it
	focuses bool            // something in it can have the focus
}

// watch asks the browser to report the remote frames, now and from now on. It holds
// each new one until it is set up, so that nothing that it does is missed.
func (rf *remoteFrames) watch() {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	if rf.known == nil {
		rf.known = reportFrames(rf.tab.s)
	}
}

// attach is watch, and returns when all remote frames that there are now are known.
func (rf *remoteFrames) attach(ctx context.Context) error {
	rf.watch()
	for {
		var wait <-chan struct{}
		rf.mu.Lock()
		if !closed(rf.known) {
			wait = rf.known
		}
		for _, f := range rf.frames {
			if !closed(f.known) {
				wait = f.known
			}
		}
		rf.mu.Unlock()
		if wait == nil {
			return nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// framesAndWorkers are what we attach to. The browser holds workers and worklets, too,
// whether it reports them or not, so we need the reports to let them go on. It
// holds no service workers that it does not report.
var framesAndWorkers = target.Filter{{Type: "browser", Exclude: true}, {Type: "tab", Exclude: true}, {Type: "page", Exclude: true}, {Type: "service_worker", Exclude: true}, {}}

// reportFrames asks for reports of the remote frames in a process's part of a page.
// Those that exist have been reported when the answer comes.
func reportFrames(s *session) <-chan struct{} {
	yes, known := true, make(chan struct{})
	p := s.send(target.CommandSetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes, Filter: framesAndWorkers})
	go func() {
		_ = p.wait(context.Background(), nil) // it ends with the session
		close(known)
	}()
	return known
}

// attached takes in a remote frame, on the reader's goroutine.
func (rf *remoteFrames) attached(parent *session, e *target.EventAttachedToTarget) {
	t := rf.tab
	if e.TargetInfo.Type != "iframe" && t.context.joins(e, t.Navigation.site) {
		return
	}
	if e.TargetInfo.Type != "iframe" {
		t.context.b.letGo(parent, e)
		return
	}
	f := &remoteFrame{tab: t, id: cdp.FrameID(e.TargetInfo.TargetID), around: e.TargetInfo.ParentFrameID, parent: parent}
	f.s = t.context.b.conn.open(e.SessionID, f.event)
	f.known = reportFrames(f.s)
	rf.mu.Lock()
	rf.count++
	f.number = rf.count
	old := rf.frames[f.id]
	if rf.frames == nil {
		rf.frames = map[cdp.FrameID]*remoteFrame{}
	}
	rf.frames[f.id] = f
	ps := rf.scripts[f.id]
	reported := closed(rf.known)
	for _, p := range rf.frames {
		if p.s == parent {
			reported = closed(p.known)
		}
	}
	rf.mu.Unlock()
	f.setUp() // an observer that begins from now on finds the frame
	if r := t.context.Network.current(); r != nil {
		r.handOver(f.id, f.s)
	}
	t.frameAttached(string(f.id))
	if ps != nil {
		ps.moves.stops() // whatever the process before was loading
	} else if reported {
		t.movesOf(f.id).stops() // it is new, or has another document than before
	}
	if old != nil {
		t.leaves(old.s)
	}
}

// setUp sends what a frame needs before its first script runs: the same as a tab, as
// far as it does not hold for the whole page anyway.
func (f *remoteFrame) setUp() {
	t := f.tab
	f.s.send(page.CommandEnable, page.EnableParams{})
	if t.context.Network.current() != nil {
		t.enableNetworkOn(f.s)
	}
	if l := t.context.logging(); l != nil {
		l.listen(f.s, t.context.Network.current() != nil)
	}
	t.FileInputs.watch(f.s)
	var sent []*pending
	if s := t.context.Surrounded(); s != nil {
		sent = s.process(f.s)
	}
	if r := t.context.requestRules(); r != nil {
		sent = append(sent, r.hold(f.s)...)
	}
	if len(sent) > 0 {
		goOnAfter(f.s, sent, nil)
		return
	}
	f.s.send(runtime.CommandRunIfWaitingForDebugger, nil)
}

// takesFocus lets a frame's process behave as if its page had the focus. That moves the
// focus to the main frame, away from whatever has it in another process, so it comes
// with the first call that gives the focus to something in the frame.
func (rf *remoteFrames) takesFocus(s *session) {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	for _, f := range rf.frames {
		if f.s == s && !f.focuses {
			f.focuses = true
			s.send(emulation.CommandSetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		}
	}
}

// event handles the events of a remote frame, on the reader's goroutine.
func (f *remoteFrame) event(method string, params jsonv2.Value) {
	t := f.tab
	switch method {
	case "Target.attachedToTarget", "Target.detachedFromTarget":
		t.remote.changes(f.s, method, params)
	case "Page.fileChooserOpened":
		var e page.EventFileChooserOpened
		if decode(params, &e) {
			t.FileInputs.opened(f.s, &e)
		}
	case "Fetch.requestPaused":
		t.context.unread.paused(f.s, params, func(e *fetch.EventRequestPaused) { t.letGo(f.s, e) })
	case "Fetch.authRequired":
		t.context.login(f.s, params)
	case "Inspector.targetCrashed":
		t.remote.detached(f.s.id)
	case "Page.frameNavigated": // of the frame, and not of the tab
		var e page.EventFrameNavigated
		if decode(params, &e) && e.Frame != nil {
			t.movesOf(e.Frame.ID).shows()
		}
	case "Page.loadEventFired":
	case "Log.entryAdded":
		t.observed(f.s, method, params)
	default:
		if tabEvents[method] != nil {
			t.event(method, params)
			return
		}
		t.observed(f.s, method, params)
	}
}

// changes takes in that a remote frame is there or gone, as the process tells it that
// holds the frame around it.
func (rf *remoteFrames) changes(parent *session, method string, params jsonv2.Value) {
	if method == "Target.attachedToTarget" {
		var e target.EventAttachedToTarget
		if decode(params, &e) && e.TargetInfo != nil {
			rf.attached(parent, &e)
		}
		return
	}
	var e target.EventDetachedFromTarget
	if decode(params, &e) {
		rf.detached(e.SessionID)
	}
}

// detached takes out a frame whose process has gone, or that shows the site of the
// frame around it again, with all in it.
func (rf *remoteFrames) detached(id target.SessionID) {
	var gone []*session
	var left []*moves
	rf.mu.Lock()
	for frame, f := range rf.frames {
		if f.s.id == id {
			gone, left = append(gone, f.s), append(left, rf.movesOf(frame))
			delete(rf.frames, frame)
		}
	}
	for i := 0; i < len(gone); i++ {
		for frame, f := range rf.frames {
			if f.parent == gone[i] {
				gone, left = append(gone, f.s), append(left, rf.movesOf(frame))
				delete(rf.frames, frame)
			}
		}
	}
	rf.mu.Unlock()
	for _, m := range left {
		m.stops() // what that process was loading does not come any more
	}
	if len(gone) == 0 {
		rf.tab.context.b.conn.drop(id) // a worker's
	}
	for _, s := range gone {
		rf.tab.leaves(s)
	}
}

// leaves forgets a session with one of the tab's frames.
func (t *Tab) leaves(s *session) {
	if r := t.context.Network.current(); r != nil {
		r.leave(s)
	}
	t.context.b.conn.drop(s.id)
}

// end forgets all of them, with the tab.
func (rf *remoteFrames) end() {
	for _, s := range rf.sessions() {
		rf.tab.leaves(s)
	}
}

// all are the remote frames, in the order in which they came.
func (rf *remoteFrames) all() []*remoteFrame {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	return slices.SortedFunc(maps.Values(rf.frames), func(a, b *remoteFrame) int { return a.number - b.number })
}

// sessions are those with remote frames.
func (rf *remoteFrames) sessions() (all []*session) {
	for _, f := range rf.all() {
		all = append(all, f.s)
	}
	return all
}

// of is the session with a frame's process, nil where the frame is in no process of
// its own.
func (rf *remoteFrames) of(id cdp.FrameID) *session {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	if f := rf.frames[id]; f != nil {
		return f.s
	}
	return nil
}

// script is the page script of a frame in the document of another.
func (rf *remoteFrames) script(id cdp.FrameID, parent *PageScript) *PageScript {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	if ps := rf.scripts[id]; ps != nil {
		return ps
	}
	if rf.scripts == nil {
		rf.scripts = map[cdp.FrameID]*PageScript{}
	}
	ps := &PageScript{tab: rf.tab, frame: id, parent: parent, moves: rf.movesOf(id)}
	rf.scripts[id] = ps
	return ps
}

// asked are the page scripts of all frames that were asked for something.
func (rf *remoteFrames) asked() []*PageScript {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	all := make([]*PageScript, 0, len(rf.scripts))
	for _, ps := range rf.scripts {
		all = append(all, ps)
	}
	return slices.Clip(all)
}
