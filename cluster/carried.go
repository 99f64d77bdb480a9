package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// carriedClients are the clients of this node that use a session of another one, by their views.
type carriedClients struct {
	mu  sync.Mutex
	now map[string]*carriedClient
}

// carriedClient is one of them.
type carriedClient struct {
	c      *Router
	client engine.Client
	sent   *mailbox        // by the client
	ctx    context.Context // ends when the client is carried no more
	cancel context.CancelFunc
	left   atomic.Bool   // the client has
	over   chan struct{} // closed when nothing comes for it any more

	mu     sync.Mutex
	ready  bool
	closed bool
}

var (
	errNotCarried = errors.New("no client of this node waits for that")
	errTwice      = errors.New("the client is ready already")
)

func (k *carriedClients) add(id string, one *carriedClient) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil {
		k.now = map[string]*carriedClient{}
	}
	k.now[id] = one
}

func (k *carriedClients) remove(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.now, id)
}

// ready begins to carry a client: the other node reads what it sends.
func (k *carriedClients) ready(m *link.ClientReady) error {
	k.mu.Lock()
	one := k.now[m.View]
	k.mu.Unlock()
	if one == nil {
		return errNotCarried
	}
	return one.begin(m.Node, m.Back)
}

// Attach lets a client into a session, whichever node has it: see [actors.Node.Attach]. The client
// of a session at another node is carried there.
func (c *Router) Attach(ctx context.Context, m *api.Execute, client engine.Client) (*api.Executed, error) {
	one := &carriedClient{c: c, client: client, sent: newMailbox(), over: make(chan struct{})}
	one.ctx, one.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer one.cancel()
	view := c.served.openFor(0, one.sent.take, one.sent.haste)
	if view == "" {
		return &api.Executed{TaskID: m.TaskID, Refusal: tooManyViews}, nil
	}
	defer c.served.end(view)
	c.carried.add(view, one)
	defer c.carried.remove(view)
	// A node that does not answer is not waited for once the client is to leave.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(replyTimeout, one.cancel) })()
	w := c.executes()
	w.here = func(ctx context.Context, m *api.Execute) (*api.Executed, error) {
		return c.local.Attach(ctx, m, client)
	}
	w.carried = &link.Carried{View: view, Session: sessionOf(m.Task), Wait: m.Task.QueueTimeout, Idle: client.Idle()}
	refused := w.refused
	w.refused = func(m *api.Execute, no *api.Refusal) *api.Executed {
		if no.Code == engine.CodeWorkerOffline { // its node does not answer, or takes nothing
			no = &api.Refusal{Code: engine.CodeSessionElsewhere, RetryAfter: no.RetryAfter, Text: "The session is at a node that cannot be reached now: connect again soon, or connect to that node. " + no.Text}
		}
		return refused(m, no)
	}
	x, err := dispatch(ctx, c, m, w)
	one.end()
	return x, err
}

// begin reads what the client sends from now on, and gives it what comes back.
func (k *carriedClient) begin(node, back string) error {
	alive, up := k.c.peers.aliveContext(node)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !up:
		return link.ErrUndelivered
	case k.closed:
		return errNotCarried
	case k.ready:
		return errTwice
	}
	k.ready = true
	k.client.Ready()
	go k.read()
	go k.follow(alive, node, back)
	return nil
}

// read takes what the client sends.
func (k *carriedClient) read() {
	for {
		b, err := k.client.Read(k.ctx)
		if err != nil {
			k.left.Store(true)
			k.sent.finish(engine.AttachLeft, 0)
			return
		}
		if k.sent.put(k.ctx, b) != nil {
			return
		}
	}
}

// follow gives the client what the other node has for it, and says why that has ended.
func (k *carriedClient) follow(alive context.Context, node, back string) {
	defer close(k.over)
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	defer context.AfterFunc(alive, cancel)()
	why, last := k.give(ctx, node, back)
	k.cancel() // nothing is read any more
	k.c.transport.Tell(node, &link.CloseView{ID: back})
	k.client.Over(why, last)
}

// give returns with the reason that the other node gives, if it can give one.
func (k *carriedClient) give(ctx context.Context, node, back string) (engine.AttachEnd, time.Time) {
	for {
		x, err := k.c.remote.askNext(ctx, node, back)
		m, ok := x.(*link.ClientMessages)
		switch {
		case err != nil || !ok:
			return "", time.Now()
		case m.End != "":
			return engine.AttachEnd(m.End), time.Now().Add(-max(m.Since, 0))
		}
		slow := false
		whole := m.Each(func(b []byte) bool {
			slow = k.client.Write(b) != nil
			return !slow
		})
		switch {
		case slow && k.left.Load():
			return engine.AttachLeft, time.Now()
		case slow:
			return engine.AttachSlow, time.Now()
		case !whole:
			return "", time.Now()
		}
	}
}

// end waits for what is on its way to the client when the answer has come. The view at the other
// node is there for it for a while.
func (k *carriedClient) end() {
	k.mu.Lock()
	ready := k.ready
	k.closed = true
	k.mu.Unlock()
	if !ready {
		return
	}
	late := time.AfterFunc(replyTimeout, k.cancel)
	defer late.Stop()
	<-k.over
}
