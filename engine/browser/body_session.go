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
	given   map[network.RequestID][]byte
	order   []network.RequestID // of those, the oldest first
}

// maxGiven bounds the answers that are remembered for having been given by the rules of the
// task. Their bodies are those of the rules: they take no memory of their own.
const maxGiven = 2000

// gives takes in what the rules answer to a request. The browser does not keep all of these
// bodies, so that whoever wants one gets it from here.
func (bs *bodySession) gives(id network.RequestID, body []byte) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if !bs.asked || id == "" {
		return // nobody reads bodies
	}
	if bs.given == nil {
		bs.given = map[network.RequestID][]byte{}
	}
	if _, again := bs.given[id]; !again {
		if bs.order = append(bs.order, id); len(bs.order) > maxGiven {
			delete(bs.given, bs.order[0])
			bs.order = bs.order[1:]
		}
	}
	bs.given[id] = body
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
	bs.session, bs.asked, bs.given, bs.order = nil, false, nil, nil
}

func (bs *bodySession) leave(s *session) {
	bs.tab.context.b.root.send(target.CommandDetachFromTarget, target.DetachFromTargetParams{SessionID: s.id})
}

// ask asks for the body of an answer where it is: from the rules that have given it, from
// the process that has reported it, or, of a worker's answer in the tab's own document, the
// second session. What it returns waits for it.
func (bs *bodySession) ask(s *session, id network.RequestID, worker bool) func() ([]byte, error) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if body, ok := bs.given[id]; ok {
		return func() ([]byte, error) { return body, nil }
	}
	if worker && bs.session != nil && s == bs.tab.s {
		s = bs.session
	}
	p := s.send(network.CommandGetResponseBody, network.GetResponseBodyParams{RequestID: id})
	return func() ([]byte, error) { return answerBody(p) }
}
