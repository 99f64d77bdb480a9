package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/cluster/link"
	"troupe/engine"
)

// Local is what this node's own actors do. [actors.Node] is one.
type Local interface {
	Execute(ctx context.Context, m *api.Execute) (*api.Executed, error)
	ExecuteIf(ctx context.Context, m *api.Execute, begin func(context.Context) error) (*api.Executed, error)
	Start(ctx context.Context, m *api.Execute, free func()) (*api.Started, error)
	api.Doer
	PollLost(ctx context.Context, m *api.Poll) (*api.Polled, error)
	GiveUpKey(ctx context.Context, m *api.Execute, node string) (*api.KeyAnswer, error)
	Attach(ctx context.Context, m *api.Execute, c engine.Client) (*api.Executed, error)
	OpenScreencast(m *view.ScreencastRequest) (*view.Viewer, *api.Refusal)
	Subscribe(account string, all bool, tasks int) view.Subscription
	Recent(account string, all bool, most int) []view.TaskProgress
	RecentTask(account string, all bool, id string) (view.TaskProgress, bool)
	Status() api.Status
	Held() map[string]int64
	HasQueue() bool
	QueueNode() string
	HoldQueue(on bool)
	PeerReports(o *api.PeerCapacity)
	PeerFreed(node string)
	LeaseStamp() string
	PromiseLease(node, stamp string) bool
	LeasePromised(keeper, stamp string)
}

// RouterConfig is what a [Router] is made from.
type RouterConfig struct {
	Conn    *nats.Conn // to the other nodes
	Node    string     // this one's name
	Version string     // of the program
	Uploads string     // folder for files of other nodes' requests; emptied at the start
	Log     zerolog.Logger
	// Store says how this node stands to the store that all share; nil: the others are
	// told nothing of it.
	Store func() *Health
	// Hub is the node that a worker node is connected to, which tells it of all nodes. Nil:
	// the node hears all others itself.
	Hub func() string
	// Digests: the node tells its worker nodes of all nodes.
	Digests bool
	// Members is how many nodes keep the store, or may; nil: nobody counts them.
	Members func() int
	// Role is what the node says that it is for; empty: it keeps the store, or may.
	Role string
	// Speaks is which releases the node understands; zero: what this build does.
	Speaks link.Speaks
}

// Router answers as [actors.Node] does, whichever node has the worker, task or session.
// It decides nothing about workers: it finds a node by the inventories, asks it, and
// after a refusal asks the next.
type Router struct {
	cfg       RouterConfig
	boot      string
	began     time.Time
	local     Local
	edge      Edge
	transport *link.Transport
	peers     *presence
	remote    remote
	stop      []func()
	unserve   func() // takes no more messages
	silence   func() // announces the node no more

	closing   sync.Once
	leaving   context.Context // ends with errLeaving when the node does
	leave     context.CancelCauseFunc
	waits     atomic.Int64 // questions that wait for news of a task
	digested  atomic.Int64 // when a worker node was told of nodes
	own       announcer
	inflight  inflightRequests
	joined    joinedRequests
	counters  counters
	hosted    hostedTasks
	locations taskLocations

	served     servedViews
	carried    carriedClients
	views      mergedViews
	unreadable unreadable
	releases   releases
	promised   promisedStamps
}

// NewRouter makes a router that knows this node alone. [Router.Open] connects it to the
// others.
func NewRouter(cfg RouterConfig) (*Router, error) {
	if err := os.RemoveAll(cfg.Uploads); err != nil {
		return nil, fmt.Errorf("empty the folder for uploads: %w", err)
	}
	if err := os.MkdirAll(cfg.Uploads, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for uploads: %w", err)
	}
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	c := &Router{
		cfg: cfg, boot: hex.EncodeToString(b), began: time.Now(), transport: link.NewTransport(cfg.Conn, cfg.Node, cfg.Log),
		peers: newPresence(cfg.Node), unserve: func() {}, silence: func() {},
	}
	c.peers.workerNode = cfg.Hub != nil
	c.remote = remote{c.transport, c.peers}
	c.leaving, c.leave = context.WithCancelCause(context.Background())
	if c.cfg.Speaks == (link.Speaks{}) {
		c.cfg.Speaks = link.ThisRelease()
	}
	c.releases.own = speaker{cfg.Node, cfg.Version, c.cfg.Speaks, c.began}
	c.own.outside, c.own.look, c.own.nodes = c.Outside, c.lookAtReleases, c.Count
	c.own.init(c.cfg, &link.Inventory{Node: cfg.Node, Boot: c.boot, Version: cfg.Version, Sent: c.began, Speaks: &c.cfg.Speaks, Began: c.began, Role: cfg.Role})
	c.peers.ping = c.ping
	c.promised.told = map[string]string{}
	c.peers.onInventory = func(i *link.Inventory) { c.local.PeerReports(i.Capacity()) }
	c.peers.down, c.peers.up = c.onDown, c.onUp
	return c, nil
}

// Changed is called when a worker of the node has changed: see [actors.Config.OnChange].
func (c *Router) Changed(api.WorkerInfo) { c.own.notify() }

// Open begins to answer other nodes, and to send them inventories. While the edge drains,
// it accepts nothing from others and offers nothing.
func (c *Router) Open(local Local, edge Edge) error {
	c.local, c.edge = local, edge
	c.own.local, c.own.edge = local, edge
	c.hosted.local, c.hosted.edge, c.hosted.remote, c.hosted.uploads = local, edge, &c.remote, c.cfg.Uploads
	c.hosted.boot, c.hosted.node, c.hosted.keyed, c.hosted.served = c.boot, c.cfg.Node, c, &c.served
	unserve, err := c.transport.Serve(c.receive)
	if err != nil {
		return err
	}
	c.unserve = unserve
	listens := map[string]nats.MsgHandler{
		link.Subject(c.cfg.Node, "ping"): c.onPing,
		link.InventorySubject:            c.onInventory,
	}
	if c.peers.workerNode {
		delete(listens, link.InventorySubject)
	}
	for to, f := range listens {
		s, err := c.cfg.Conn.Subscribe(to, f)
		if err != nil {
			return fmt.Errorf("listen to other nodes: %w", err)
		}
		c.stop = append(c.stop, func() { _ = s.Unsubscribe() })
	}
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { c.own.run(done) })
	switch {
	case c.peers.workerNode:
		telling.Go(func() { c.followDigests(done) })
	case c.cfg.Digests:
		telling.Go(func() { c.tellDigests(done) })
	}
	c.silence = func() { close(done); telling.Wait() }
	return nil
}

// Close answers what the node has received from the others and tells them that it leaves. A
// second call does nothing.
func (c *Router) Close() {
	c.closing.Do(c.close)
}

func (c *Router) close() {
	c.leave(errLeaving)
	for end := time.Now().Add(replyTimeout); c.waits.Load() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // waiting clients get the state of their tasks
	}
	c.silence()
	c.unserve()
	c.hosted.close()
	fetching, enough := context.WithTimeout(context.Background(), replyTimeout)
	c.transport.Finish(fetching)
	enough()
	last := *c.own.last.Load()
	last.Leaving, last.Workers, last.Sent, last.Last = true, nil, time.Now(), c.hosted.last()
	c.own.publish(&last)
	_ = c.cfg.Conn.FlushTimeout(replyTimeout)
	for i := len(c.stop) - 1; i >= 0; i-- {
		c.stop[i]()
	}
	c.peers.close()
	c.served.close()
}

// replyTimeout bounds the time of a short answer.
const replyTimeout = 2 * time.Second

func (c *Router) onInventory(msg *nats.Msg) {
	m, err := link.ReadMessage(msg)
	if err != nil {
		if n := c.unreadable.count(time.Now()); n > 0 {
			c.cfg.Log.Warn().Err(err).Int("count", n).Msg("did not understand another node's inventory: check that both run neighbouring releases")
		}
		return
	}
	if i, ok := m.(*link.Inventory); ok && i.Node != c.cfg.Node {
		c.takeInventory(i)
	}
}

func (c *Router) takeInventory(i *link.Inventory) {
	understood, first := c.releases.heard(i, time.Now())
	if !understood {
		c.peers.forget(i.Node)
		if first { // it has to know this one, too
			c.own.announceNext.Store(true)
			c.own.notify()
		}
	} else {
		c.peers.update(i)
	}
	if !understood || c.Outside() != "" {
		c.lookAtReleases()
	}
}

// onDown ends what this node does for one that is down. Waiting for that node ends with
// its aliveContext.
func (c *Router) onDown(p *peer) {
	c.cfg.Log.Warn().Str("node", p.name).Msg("a node of the cluster is down")
	c.local.PeerReports(&api.PeerCapacity{Node: p.name})
	c.hosted.endFrom(p.name)
	c.views.endAll()
}

// onUp sends a node that is back the notices for it. It may have been unreachable only
// for others, and still have the tasks that were given up.
func (c *Router) onUp(p *peer) {
	if isWorker := p.inventory.Role == link.RoleWorker; !isWorker { // a digest tells it of this one
		c.own.announceNext.Store(true)
		c.own.notify()
	}
	c.views.endAll()
	c.cfg.Log.Info().Str("node", p.name).Str("version", p.inventory.Version).Msg("a node of the cluster is there")
	c.sendNotices(p.name)
}

func (c *Router) sendNotices(node string) {
	for _, m := range c.inflight.takeNotices(node) {
		c.transport.Tell(node, m)
	}
}

// Status is this node in numbers, with what others could do for its clients.
func (c *Router) Status() api.Status {
	s := c.local.Status()
	for _, p := range c.peers.known() {
		if p.up {
			s.PeerWorkers += p.inventory.Usable()
		}
	}
	return s
}

// within is a context that ends with ctx, with a node, or when a time is over.
func within(ctx, alive context.Context, most time.Duration) (context.Context, context.CancelCauseFunc) {
	both, cancel := context.WithCancelCause(ctx)
	release := attend(alive)
	unwatch := context.AfterFunc(alive, func() { cancel(context.Cause(alive)) })
	timer := time.AfterFunc(most, func() { cancel(context.DeadlineExceeded) })
	return both, func(cause error) { unwatch(); timer.Stop(); release(); cancel(cause) }
}

// undelivered reports whether certainly no node has received a message.
func undelivered(err error) bool { return errors.Is(err, link.ErrUndelivered) }

// unstarted reports whether a task has certainly not started where it was sent: no node
// received it, or the node refused it.
func unstarted(err error) bool { return undelivered(err) || errors.Is(err, link.ErrUnstarted) }
