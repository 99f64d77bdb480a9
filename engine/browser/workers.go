package browser

import (
	"context"
	"slices"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// joins stays attached to a worker of a context whose pages have surroundings of their
// own, and gives it these before its script runs. It reports whether there are any.
// The page, where there is one, says where the worker belongs; else its own address does.
func (c *Context) joins(e *target.EventAttachedToTarget, page func() string) bool {
	around, rules := c.Surrounded(), c.requestRules()
	if around == nil && rules == nil {
		return false
	}
	if page == nil {
		own := e.TargetInfo.URL
		page = func() string { return own }
	}
	var s *session
	s = c.b.conn.open(e.SessionID, func(method string, params jsonv2.Value) { c.workerEvent(s, page, method, params) })
	if e.TargetInfo.Type != "service_worker" {
		reportFrames(s) // workers may start workers
	}
	var sent []*pending
	if around != nil {
		sent = around.worker(s)
	}
	if rules != nil {
		sent = append(sent, rules.holdWorker(s)...)
	}
	goOnAfter(s, sent, nil)
	c.mu.Lock()
	if len(c.workers) >= manyWorkers {
		c.workers = slices.DeleteFunc(c.workers, func(s *session) bool { return !s.open() })
	}
	c.workers = append(c.workers, s)
	c.mu.Unlock()
	return true
}

// workerPaused answers a request of a worker that was held.
func (c *Context) workerPaused(s *session, page func() string, e *fetch.EventRequestPaused) {
	if r := c.requestRules(); r != nil && e.Request != nil {
		c.unread.decide(r, nil, s, e, page(), false)
		return
	}
	s.send(fetch.CommandContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
}

// manyWorkers is from how many on those are forgotten that have ended.
const manyWorkers = 64

// attends has the browser report the context's workers from now on.
func (c *Context) attends() {
	c.mu.Lock()
	already := c.attend
	c.attend = true
	c.mu.Unlock()
	if !already {
		c.b.watchWorkers(1)
	}
}

// goOnAfter lets what the browser holds go on when the process has taken in what was sent
// to it, and until is closed unless that is nil. The browser itself lets it go on, on another way
// than that to the process, so the order of the commands is not enough.
func goOnAfter(s *session, sent []*pending, until <-chan struct{}) (goesOn *pending) {
	goesOn = &pending{conn: s.conn, on: s.id, name: runtime.CommandRunIfWaitingForDebugger, reply: make(chan *message, 1)}
	go func() {
		for _, p := range sent {
			_ = p.wait(context.Background(), nil) // it ends with the session
		}
		if until != nil {
			<-until
		}
		if m, ok := <-s.send(runtime.CommandRunIfWaitingForDebugger, nil).reply; ok {
			goesOn.reply <- m
		} else {
			close(goesOn.reply)
		}
	}()
	return goesOn
}

// workerEvent handles the events of a worker, on the reader's goroutine.
func (c *Context) workerEvent(s *session, page func() string, method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		var e target.EventAttachedToTarget
		if decode(params, &e) && e.TargetInfo != nil && !c.joins(&e, page) {
			c.b.letGo(s, &e)
		}
	case "Target.detachedFromTarget":
		var e target.EventDetachedFromTarget
		if decode(params, &e) {
			c.b.conn.drop(e.SessionID)
		}
	case "Fetch.requestPaused":
		c.unread.paused(s, params, func(e *fetch.EventRequestPaused) { c.workerPaused(s, page, e) })
	case "Fetch.authRequired":
		c.login(s, params)
	}
}

// letGo leaves alone what the browser holds for us, once it has gone on: a shared worker
// that is left earlier never does.
func (b *Browser) letGo(parent *session, e *target.EventAttachedToTarget) {
	goesOn := b.conn.open(e.SessionID, nil).send(runtime.CommandRunIfWaitingForDebugger, nil)
	go func() {
		_ = goesOn.wait(context.Background(), nil) // it ends with the session
		parent.send(target.CommandDetachFromTarget, target.DetachFromTargetParams{SessionID: e.SessionID})
	}()
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
