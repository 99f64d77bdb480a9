package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/persistence"
)

// sharesQueue reports whether the node has a queue together with others.
func (n *nodeParts) sharesQueue() bool {
	return n.cfg.Node != "" && n.cfg.Peers != nil && n.cfg.Session.Lease > 0
}

// QueueNode is the node that orders the queue, as far as this one knows; empty: none, or
// there is no queue.
func (n *Node) QueueNode() string {
	if h := n.parts.holder.Load(); h != nil {
		return h.Node
	}
	return ""
}

// HasQueue reports whether tasks can wait in a queue.
func (n *Node) HasQueue() bool { return n.parts.queue != nil }

// keepQueue follows which node orders the queue, and takes its place if that is lost.
func (n *Node) keepQueue() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	n.parts.unkeepQueue = func() {
		cancel()
		<-done
	}
	k := &queueKeeper{of: n, node: n.parts}
	go func() {
		defer close(done)
		defer n.parts.dropNotices()
		defer n.parts.dropBatches()
		k.run(ctx)
	}()
}

// queueKeeper follows the record of the node that orders the queue.
type queueKeeper struct {
	of   *Node
	node *nodeParts
	term uint64    // in which this node took it; zero: it has not
	free time.Time // since then no node orders the queue; zero: one does
}

const (
	// keepEvery is how often the node is looked at that orders the queue.
	keepEvery = 500 * time.Millisecond
	// leaderFirst is how long the other nodes let the one that leads the store take the
	// order of the queue: it may be another kind of node, or be gone as well.
	leaderFirst = 2 * time.Second
)

func (k *queueKeeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := k.node.records.Store.Watch(ctx, records.HolderKey)
		if err == nil {
			k.follow(ctx, events)
			continue
		}
		k.check(ctx, false)
		pause(ctx, keepEvery)
	}
}

// follow reads the record at each change of it, and looks at its node in between.
func (k *queueKeeper) follow(ctx context.Context, events <-chan persistence.Event) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for read := true; ; {
		read = !k.check(ctx, read)
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				return
			}
			read = true
		case <-tick.C:
		}
	}
}

// check looks at the node that orders the queue, and takes its place if it is lost. False:
// the record is to be read.
func (k *queueKeeper) check(ctx context.Context, read bool) bool {
	n := k.node
	if k.term != 0 && !n.leases.Serves(k.term) {
		n.log.Warn().Msg("this node orders the queue no more: its lease is over")
		k.drop()
	}
	h := n.holder.Load()
	if !read && h != nil && (h.Node == n.cfg.Node && k.term != 0 || h.Node != n.cfg.Node && n.cfg.Peers.Up(h.Node)) {
		k.free = time.Time{}
		return true
	}
	bound, cancel := context.WithTimeout(ctx, n.leases.Duration+restoreMargin)
	defer cancel()
	err := protect(func() error { return k.look(bound) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, persistence.ErrConflict) {
		n.log.Warn().Err(err).Msg("it is unknown which node orders the queue")
	}
	return err == nil
}

func (k *queueKeeper) drop() {
	if k.term != 0 {
		k.term = 0
		k.node.system.Root.Send(k.node.queue, &queueDrop{})
		k.node.dropBatches()
		k.node.dropNotices()
	}
}

// look reads the record, and takes the order of the queue where its node is lost.
func (k *queueKeeper) look(ctx context.Context) error {
	n, kept := k.node, k.node.records.Queue()
	rec, revision, err := kept.Holder(ctx)
	if err != nil {
		return err
	}
	mine := rec.Node == n.cfg.Node && rec.Boot == n.boot
	if revision != 0 && !(rec.Node == n.cfg.Node && k.term == 0) {
		n.holder.Store(&rec)
		n.system.Root.Send(n.queue, &queueHold{}) // which has this node reported to that one
	}
	switch {
	case mine && k.term != 0:
		return nil
	case !mine:
		k.drop()
	}
	if n.cfg.WorkerNode {
		return nil // another one takes it
	}
	if revision != 0 && rec.Node != n.cfg.Node {
		if n.cfg.Peers.Up(rec.Node) {
			return nil
		}
		switch err := n.leases.WaitAndRevoke(ctx, rec.Node); {
		case err != nil && n.cfg.Peers.Up(rec.Node):
			return nil
		case err != nil:
			return fmt.Errorf("wait for the lease of %s: %w", rec.Node, err)
		}
	}
	if !k.goesFirst(time.Now()) {
		return nil
	}
	term := n.leases.Term()
	if !n.leases.Serves(term) {
		return persistence.ErrNoQuorum
	}
	next := records.Holder{Node: n.cfg.Node, Boot: n.boot, Epoch: rec.Epoch + 1}
	if err := kept.Hold(ctx, next, revision); err != nil {
		return err
	}
	u, err := n.orderQueue(ctx, next.Epoch, term)
	if err != nil {
		return err
	}
	if err := k.of.leadBatches(ctx, term); err != nil {
		return err
	}
	k.term, k.free = term, time.Time{}
	n.holder.Store(&next)
	n.system.Root.Send(n.queue, &queueTake{u})
	n.batchLead.Load().Start()
	n.leadNotices(term)
	return nil
}

// goesFirst reports whether this node may take the order of the queue now. Each change of the
// queue goes to the leader of the store first, so that one orders it best.
func (k *queueKeeper) goesFirst(now time.Time) bool {
	if k.free.IsZero() {
		k.free = now
	}
	leads := k.node.cfg.LeadsStore
	return leads == nil || leads() || now.Sub(k.free) >= leaderFirst
}

// orderQueue reads what waits and what runs, for a node that orders the queue now.
func (n *nodeParts) orderQueue(ctx context.Context, epoch, term uint64) (*queue, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recoverTimeout)
	defer cancel()
	book := backlog.NewBook(n.cfg.Clock)
	u := newQueue(n, book)
	u.nodes = newQueueNodes(n, epoch, term)
	running := map[string]records.Task{}
	if err := n.records.Queue().Claimed(ctx, func(t records.Task) { running[t.Queue.Key] = t }); err != nil {
		return nil, err
	}
	err := n.records.Queue().Survey(ctx, func(p backlog.Place, task string, size int64, number uint64) {
		if t, runs := running[p.Key(task)]; !runs {
			book.Found(p, size, number)
		} else if u.live[task] == nil {
			u.resume(p, t, size)
		}
	})
	if err != nil {
		return nil, err
	}
	for key, t := range running { // that have no record in the queue
		p, _, ok := parsePlace(key)
		if ok && u.live[t.ID] == nil {
			u.resume(p, t, 0)
		}
	}
	return u, nil
}

// resume takes in a task that a node has, and whose record in the queue has so many bytes.
func (u *queue) resume(p backlog.Place, t records.Task, bytes int64) {
	u.book.Resume(p, t.ID, bytes)
	u.live[t.ID] = &queuedTask{
		place: p, begun: true,
		at:         turnAt{node: t.Node, boot: t.Queue.Boot, turn: t.Queue.Turn, sent: true, allowed: true, resumed: true},
		cancelling: cancelling{cause: t.Queue.Cancel, kept: t.Queue.Cancel != ""},
	}
	u.busy++
	u.nodes.get(t.Node).busy++
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// errTurnOver: the turn in which a task was to begin is over.
var errTurnOver = errors.New("the turn of the task is over")

// claimTurn writes down that a task begins, and asks the node that orders the queue
// whether it may. If not, it has not begun, and the record says so again.
func (n *nodeParts) claimTurn(ctx context.Context, t records.Task, from *fromQueue) (revision uint64, err error) {
	revision, err = n.records.Queue().Claim(ctx, t, from.over)
	if err == nil {
		if err = n.mayBegin(ctx, t); err == nil {
			return revision, nil
		}
	}
	if errors.Is(err, persistence.ErrConflict) {
		return 0, fmt.Errorf("%w: another node has it", errTurnOver)
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.WriteTimeout)
	defer cancel()
	if undone := n.records.Queue().Unclaim(bound, t); undone != nil {
		return 0, errors.Join(err, undone)
	}
	return 0, err
}

// beginWithin bounds the question whether a task may begin: its worker waits.
const beginWithin = 10 * time.Second

func (n *nodeParts) mayBegin(ctx context.Context, t records.Task) error {
	ctx, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	q := &api.QueueBegin{Task: t.ID, Turn: t.Queue.Turn, Node: t.Node, Boot: t.Queue.Boot}
	for {
		try, done := context.WithTimeout(ctx, api.QueueTimeout)
		x, err := askOrderer[api.QueueBegins](try, n, q)
		done()
		switch {
		case err == nil && x.Asked && x.OK:
			return nil
		case err == nil && x.Asked:
			return errTurnOver
		case ctx.Err() != nil:
			return fmt.Errorf("%w: nobody says that it may begin", errTurnOver)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

var (
	_ = handleInNode((*Node).queueTurns)
	_ = handleInNode((*Node).queueReport)
	_ = handleInNode((*Node).queueBegin)
)

func (n *Node) queueTurns(ctx context.Context, m *api.QueueTurns) (*api.QueueTurnsTaken, error) {
	if !n.parts.sharesQueue() {
		return &api.QueueTurnsTaken{}, nil
	}
	return askNode[api.QueueTurnsTaken](ctx, n, n.parts.queue, m)
}

func (n *Node) queueReport(ctx context.Context, m *api.QueueReport) (*api.QueueReported, error) {
	if at := n.parts.orderer.Load(); at != nil {
		return askNode[api.QueueReported](ctx, n, at, m)
	}
	return &api.QueueReported{}, nil
}

func (n *Node) queueBegin(ctx context.Context, m *api.QueueBegin) (*api.QueueBegins, error) {
	if at := n.parts.orderer.Load(); at != nil {
		return askNode[api.QueueBegins](ctx, n, at, m)
	}
	return &api.QueueBegins{}, nil
}
