package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// guestIdle is how long the messages for a client wait for its node to ask for them: longer than
// that waits for the client to take one.
const guestIdle = 2 * time.Minute

// errGuestGone: the client has left its node, or the node has gone.
var errGuestGone = errors.New("the client has left")

// guestClient is a client that is connected to another node, for the task that lets it in.
type guestClient struct {
	g       *hostedTasks
	origin  string
	carried *link.Carried
	forIt   *mailbox
	sent    chan []byte     // by it
	ctx     context.Context // ends when it is gone
	cancel  context.CancelFunc
	serving sync.Once

	mu   sync.Mutex
	last time.Time
}

var _ engine.Client = (*guestClient)(nil)

// attach lets the client of another node into a session of this one.
func (g *hostedTasks) attach(one *hostedTask, m *api.Execute, carried *link.Carried) (*api.Executed, error) {
	g.mu.Lock()
	leave := g.clientsLeave
	one.client = true
	g.mu.Unlock()
	if leave {
		return &api.Executed{TaskID: m.TaskID, Refusal: drainingRefusal}, nil
	}
	c := &guestClient{g: g, origin: one.origin, carried: carried, forIt: newMailbox(), sent: make(chan []byte)}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(one.ctx))
	defer c.cancel()
	x, err := g.local.Attach(one.ctx, m, c)
	c.forIt.finish("", 0) // where it did not get so far
	return x, err
}

// stopClients ends such clients, and lets no more in.
func (g *hostedTasks) stopClients() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clientsLeave = true
	for _, one := range g.running {
		if one.client {
			one.cancel(engine.ErrDraining)
		}
	}
}

// carriedTask is the task of such a client.
func carriedTask(k *link.Carried) *engine.Task {
	t := engine.AttachTask(k.Session)
	t.QueueTimeout = min(max(k.Wait, 0), engine.MaxQueueTimeout)
	return t
}

// Ready tells the client's node, and takes what the client sends from now on.
func (c *guestClient) Ready() {
	back := c.g.served.openFor(guestIdle, c.forIt.take, c.cancel)
	if back == "" {
		c.cancel()
		return
	}
	go c.take(back)
}

func (c *guestClient) take(back string) {
	defer c.cancel()
	alive, up := c.g.remote.peers.aliveContext(c.origin)
	if !up {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(alive, cancel)()
	telling, told := context.WithTimeout(ctx, replyTimeout)
	_, err := link.AskFor[link.ClientReady](telling, c.g.remote.transport, c.origin, &link.ClientReady{View: c.carried.View, Node: c.g.node, Back: back})
	told()
	for err == nil {
		var x any
		x, err = c.g.remote.askNext(ctx, c.origin, c.carried.View)
		m, ok := x.(*link.ClientMessages)
		if err != nil || !ok || m.End != "" {
			return
		}
		if !m.Each(func(b []byte) bool {
			select {
			case c.sent <- b:
				return true
			case <-ctx.Done():
				return false
			}
		}) {
			return
		}
	}
}

func (c *guestClient) Read(ctx context.Context) ([]byte, error) {
	c.serving.Do(func() { context.AfterFunc(ctx, c.forIt.haste) })
	select {
	case b := <-c.sent:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.ctx.Done():
		return nil, errGuestGone
	}
}

func (c *guestClient) Write(b []byte) error { return c.forIt.put(c.ctx, b) }

func (c *guestClient) Idle() time.Duration { return c.carried.Idle }

func (c *guestClient) Over(why engine.AttachEnd, last time.Time) {
	c.mu.Lock()
	c.last = last
	c.mu.Unlock()
	c.forIt.finish(why, time.Since(last))
}

func (c *guestClient) Unused() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() {
		return 0
	}
	return time.Since(c.last)
}
