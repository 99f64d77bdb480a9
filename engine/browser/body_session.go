package browser

import (
	"sync"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
)

// bodySession is the second session with a tab, which asks for the bodies of what
// service workers have answered. That never came over the network, so it is not among
// the bodies that the browser keeps for the first session: only the page has it, and
// only a session that keeps none can ask the page.
type bodySession struct {
	tab *Tab

	mu      sync.Mutex
	asked   bool     // for the session
	session *session // nil until it has begun
}

// open begins the session, or returns nil where it was begun before.
func (bs *bodySession) open() *pending {
	bs.mu.Lock()
	asked := bs.asked
	bs.asked = true
	bs.mu.Unlock()
	if asked {
		return nil
	}
	c, yes := bs.tab.context, true
	c.mu.Lock()
	c.beside[bs.tab.id] = bs.tab // until the tab is gone: the session may begin when it is not wanted any more
	c.mu.Unlock()
	return c.b.root.send(target.CommandAttachToTarget, target.AttachToTargetParams{TargetID: bs.tab.id, Flatten: &yes})
}

// opened takes in the second session.
func (bs *bodySession) opened(id target.SessionID) {
	s := bs.tab.context.b.conn.open(id, nil)
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if !bs.asked {
		bs.leave(s)
		return
	}
	bs.session = s
	s.send(network.CommandEnable, networkLimits)
}

// close ends it.
func (bs *bodySession) close() {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if bs.session != nil {
		bs.leave(bs.session)
	}
	bs.session, bs.asked = nil, false
}

func (bs *bodySession) leave(s *session) {
	bs.tab.context.b.root.send(target.CommandDetachFromTarget, target.DetachFromTargetParams{SessionID: s.id})
}

// ask asks for the body of an answer where it is: from the process that has reported
// it, or, of a worker's answer in the tab's own document, the second session.
func (bs *bodySession) ask(s *session, id network.RequestID, worker bool) *pending {
	bs.mu.Lock()
	if worker && bs.session != nil && s == bs.tab.s {
		s = bs.session
	}
	bs.mu.Unlock()
	return s.send(network.CommandGetResponseBody, network.GetResponseBodyParams{RequestID: id})
}
