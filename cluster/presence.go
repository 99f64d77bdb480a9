package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/cluster/link"
	"troupe/cluster/member"
	"troupe/engine"
)

const (
	// forgetAfter is how long a node that does not come back is remembered.
	forgetAfter = time.Hour
	// forgetLeft is the same for a worker node that has left in good order.
	forgetLeft = time.Minute
	// maxPeers bounds how many nodes are known. Where there are more, one makes
	// room that has been down for goneAfter.
	maxPeers  = 256
	goneAfter = 10 * time.Second
)

var (
	// errDown ends what waits for a node that does not answer any more.
	errDown = errors.New("the node does not answer")
	// errLeaving ends waiting for another node when this one stops. It says nothing
	// about the other node.
	errLeaving = fmt.Errorf("this node leaves the others: %w", engine.ErrDraining)
)

// presence knows which nodes are up. That a node is down is a suspicion: it ends what
// waits for the node, but never repeats anything.
type presence struct {
	node       string
	workerNode bool // a worker node: it hears of others by digests
	ping       func(ctx context.Context, node string) (boot string, err error)
	// down and up are called at changes, one at a time and in order.
	down, up    func(p *peer)
	onInventory func(i *link.Inventory) // a new inventory, of a node that is up

	mu    sync.Mutex
	peers map[string]*peer
	base  context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

// peer is another node, by its last message. The lock of presence guards its fields.
type peer struct {
	name      string
	up        bool
	since     time.Time
	inventory *link.Inventory
	lastHeard time.Time
	answered  time.Time // it was asked, and was there
	workers   map[string]bool
	sessions  map[string]string // the account of each

	alive       context.Context // ends with errDown
	cancelAlive context.CancelCauseFunc
	care        *care
}

func newPresence(node string) *presence {
	p := &presence{
		node: node, peers: map[string]*peer{},
		down: func(*peer) {}, up: func(*peer) {}, onInventory: func(*link.Inventory) {},
	}
	p.base, p.stop = context.WithCancel(context.Background())
	return p
}

// close ends the pings. No callback runs after it.
func (p *presence) close() {
	p.mu.Lock()
	p.stop()
	for _, one := range p.peers {
		one.cancelAlive(errLeaving)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// update takes over a node's inventory.
func (p *presence) update(i *link.Inventory) {
	if i.Node == p.node || !member.ValidName.MatchString(i.Node) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base.Err() != nil {
		return
	}
	one := p.peers[i.Node]
	switch {
	case i.Leaving:
		if one != nil && one.inventory.Boot == i.Boot {
			one.inventory, one.lastHeard = i, time.Now()
			p.end(one, &leftError{i.Last})
		}
		return
	case one == nil:
		if !p.makeRoom() {
			return
		}
		one = &peer{name: i.Node, care: &care{wake: make(chan struct{}, 1)}}
		p.peers[i.Node] = one
		one.setInventory(i)
		p.markUp(one)
		p.wg.Go(func() { p.watch(one) })
	case one.inventory.Boot != i.Boot: // what was asked of the last process is lost
		if i.Sent.Before(one.inventory.Sent) {
			return // its last words
		}
		p.markDown(one)
		one.setInventory(i)
		p.markUp(one)
	default:
		// A worker node is told by the node that it has, which may have lost another one for a
		// moment: nobody pings that one from here.
		back := p.workerNode && !one.up && one.inventory.Leaving && !i.Sent.Before(one.inventory.Sent)
		one.setInventory(i)
		if back {
			p.markUp(one)
		}
	}
	if one.up {
		p.onInventory(i)
	}
}

// forget takes a node for down that this one does not understand any more.
func (p *presence) forget(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.peers[node]; one != nil {
		p.markDown(one)
		delete(p.peers, node)
	}
}

// keep forgets all nodes but some, and but those that were heard since a time: they may have
// come after the list of the others was made.
func (p *presence) keep(some map[string]bool, since time.Time) {
	for _, one := range p.known() {
		if !some[one.name] && one.lastHeard.Before(since) && one.inventory.Version != "" { // of others only a message has come
			p.forget(one.name)
		}
	}
}

// makeRoom reports whether one more node can be known. The caller holds the lock.
func (p *presence) makeRoom() bool {
	if len(p.peers) < maxPeers {
		return true
	}
	var oldest *peer
	for _, one := range p.peers {
		if !one.up && time.Since(one.since) > goneAfter && (oldest == nil || one.since.Before(oldest.since)) {
			oldest = one
		}
	}
	if oldest != nil {
		delete(p.peers, oldest.name)
	}
	return oldest != nil
}

// noteMessage takes a message as a sign of life. Work for a node ends when the node goes
// down, so this node pings it, even before its first inventory.
func (p *presence) noteMessage(node, boot string, sent time.Time) {
	p.mu.Lock()
	one := p.peers[node]
	known := one != nil && one.inventory.Boot == boot
	if known && !one.up && !one.inventory.Leaving && p.base.Err() == nil {
		p.markUp(one)
	}
	p.mu.Unlock()
	if !known {
		p.update(&link.Inventory{Node: node, Boot: boot, Sent: sent})
	}
}

func (o *peer) setInventory(i *link.Inventory) {
	o.inventory, o.lastHeard = i, time.Now()
	o.workers, o.sessions = make(map[string]bool, len(i.Workers)), map[string]string{}
	for _, w := range i.Workers {
		o.workers[w.ID] = true
		if w.Session != "" {
			o.sessions[w.Session] = w.Account
		}
	}
}

func (p *presence) markUp(one *peer) {
	one.up, one.since = true, time.Now()
	one.alive, one.cancelAlive = context.WithCancelCause(context.WithValue(context.Background(), careKey{}, one.care))
	p.up(one)
}

func (p *presence) markDown(one *peer) { p.end(one, errDown) }

// end marks a node as down, and ends what waits for it.
func (p *presence) end(one *peer, cause error) {
	if one.up {
		one.up, one.since = false, time.Now()
		one.cancelAlive(cause)
		p.down(one)
	}
}

// aliveContext returns the context that ends when a node goes down.
func (p *presence) aliveContext(node string) (context.Context, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.peers[node]; one != nil && one.up {
		return one.alive, true
	}
	return nil, false
}

// boot names the process of a node that was heard last; empty: the node is unknown.
func (p *presence) boot(node string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.peers[node]; one != nil {
		return one.inventory.Boot
	}
	return ""
}

func (p *presence) isUp(node string) bool {
	_, up := p.aliveContext(node)
	return up
}

// upNodes are the names of the nodes that are up, of all that are known, in order.
func (p *presence) upNodes(is func(*peer) bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for name, one := range p.peers {
		if one.up && (is == nil || is(one)) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// find returns a node that matches, up or down; one that is up, if possible.
func (p *presence) find(is func(*peer) bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := ""
	for name, one := range p.peers {
		if is(one) && (best == "" || one.up && !p.peers[best].up) {
			best = name
		}
	}
	return best
}

// known copies what is known of all nodes.
func (p *presence) known() []peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]peer, 0, len(p.peers))
	for _, one := range p.peers {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b peer) int { return strings.Compare(a.name, b.name) })
	return all
}

// lost reports whether an error says that a node went down.
func lost(err error) bool { return errors.Is(err, errDown) }

// leftError is an errDown of a node that has left in good order.
type leftError struct {
	last *link.LastTasks
}

func (*leftError) Error() string { return "the node has left" }
func (*leftError) Unwrap() error { return errDown }

func hasLeft(err error) bool {
	_, left := errors.AsType[*leftError](err)
	return left
}

// notBegun reports whether an error says that a task that was sent so long ago to a node
// that has left has not begun there.
func notBegun(err error, task string, sent time.Duration) bool {
	left, ok := errors.AsType[*leftError](err)
	return ok && left.last.NotBegun(task, sent)
}
