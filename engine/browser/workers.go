package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// joins stays attached to a worker of a context whose pages have surroundings of their
// own, and gives it these before its script runs. It reports whether there are any.
func (c *Context) joins(e *target.EventAttachedToTarget) bool {
	around := c.Surrounded()
	if around == nil {
		return false
	}
	var s *session
	s = c.b.conn.open(e.SessionID, func(method string, params jsonv2.Value) { c.workerEvent(s, method, params) })
	if e.TargetInfo.Type != "service_worker" {
		reportFrames(s) // workers may start workers
	}
	goOnAfter(s, around.worker(s))
	return true
}

// goOnAfter lets what the browser holds go on when the process has taken in what was sent
// to it. The browser itself lets it go on, on another way than that to the process, so the
// order of the commands is not enough.
func goOnAfter(s *session, sent []*pending) {
	go func() {
		for _, p := range sent {
			_ = p.wait(context.Background(), nil) // it ends with the session
		}
		s.send(runtime.CommandRunIfWaitingForDebugger, nil)
	}()
}

// workerEvent handles the events of a worker, on the reader's goroutine.
func (c *Context) workerEvent(s *session, method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		var e target.EventAttachedToTarget
		if decode(params, &e) && e.TargetInfo != nil && !c.joins(&e) {
			c.b.letGo(s, &e)
		}
	case "Target.detachedFromTarget":
		var e target.EventDetachedFromTarget
		if decode(params, &e) {
			c.b.conn.drop(e.SessionID)
		}
	}
}

// letGo leaves alone what the browser holds for us.
func (b *Browser) letGo(parent *session, e *target.EventAttachedToTarget) {
	b.conn.open(e.SessionID, nil).send(runtime.CommandRunIfWaitingForDebugger, nil)
	parent.send(target.CommandDetachFromTarget, target.DetachFromTargetParams{SessionID: e.SessionID})
}

// pagesOnly and pagesAndWorkers are what the browser reports by itself. It has service
// workers and shared ones outside any page.
var (
	pagesOnly       = target.Filter{{Type: "page"}}
	pagesAndWorkers = target.Filter{{Type: "page"}, {Type: "service_worker"}, {Type: "shared_worker"}}
)

// watchWorkers has the browser report service workers and shared ones while any context
// has surroundings of its own.
func (b *Browser) watchWorkers(more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.watchers
	b.watchers += more
	if (before > 0) != (b.watchers > 0) {
		b.reportTargets()
	}
}

// reportTargets says what the browser is to report, and hold, before its first script
// runs. The caller holds b.mu.
func (b *Browser) reportTargets() *pending {
	yes, filter := true, pagesOnly
	if b.watchers > 0 {
		filter = pagesAndWorkers
	}
	return b.root.send(target.CommandSetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes, Filter: filter})
}
