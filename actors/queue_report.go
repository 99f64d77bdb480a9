package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
)

// errNobodyOrders: no node that is known orders the queue.
var errNobodyOrders = errors.New("no node orders the queue now")

// maxQueueEvents bounds what is kept for the node that orders the queue. What is left out,
// that one finds in the records.
const maxQueueEvents = 100_000

func (q *queueMember) tell(task string, change api.QueueChange) {
	if t := q.turns[task]; t != nil {
		q.event(t.turn, api.QueueEvent{Change: change})
	}
}

func (q *queueMember) event(turn api.QueueTurn, e api.QueueEvent) {
	q.seq++
	e.Seq, e.Turn = q.seq, turn
	if q.events = append(q.events, e); len(q.events) > maxQueueEvents {
		q.events = q.events[1:]
	}
	q.news = true
}

// maxEventsOut bounds the events of one report.
const maxEventsOut = 1000

// report tells the node that orders the queue how this one stands to it. One report is
// on its way at a time.
func (q *queueMember) report() {
	if q.sending {
		q.news = true
		return
	}
	out := q.events[:min(len(q.events), maxEventsOut)]
	m := &api.QueueReport{
		Node: q.node.cfg.Node, Boot: q.node.boot, Room: q.room, Got: q.got,
		Has: slices.Collect(maps.Keys(q.turns)), Events: slices.Clone(out),
	}
	if q.over || q.node.queueHeld.Load() {
		m.Room = 0
	}
	for _, e := range q.events { // what is still to be told of is not missing
		m.Has = append(m.Has, e.Turn.Task)
	}
	sent := &queueReported{}
	if len(out) > 0 {
		sent.upTo = out[len(out)-1].Seq
	}
	q.sending, q.news = true, false
	q.node.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), api.QueueTimeout)
		defer cancel()
		sent.err = protect(func() (err error) {
			sent.x, err = askOrderer[api.QueueReported](ctx, q.node, m)
			return err
		})
		q.send(q.node.queue, sent)
	})
}

func (q *queueMember) onReported(m *queueReported) {
	q.sending = false
	if m.err != nil || m.x.Epoch == 0 { // often the node that orders the queue now is not quite ready
		q.news, q.idle = false, idleReports
		q.timer.Reset(reportAgain)
		return
	}
	q.epoch = max(q.epoch, m.x.Epoch)
	q.want(m.x.Wanted)
	for len(q.events) > 0 && q.events[0].Seq <= m.upTo {
		q.events = q.events[1:]
	}
	q.news = q.news || len(q.events) > 0
}

// check answers those who wait until no task is left here.
func (q *queueMember) check() {
	kept := q.flushes[:0]
	for _, f := range q.flushes {
		if q.has(f.account) {
			kept = append(kept, f)
		} else if q.orders != nil {
			q.node.system.Root.RequestWithCustomSender(q.orders, &flush{Account: f.account}, f.sender)
		} else {
			q.send(f.sender, &flushed{})
		}
	}
	q.flushes = kept
}

func (q *queueMember) has(account string) bool {
	for _, t := range q.turns {
		if account == "" || t.account == account {
			return true
		}
	}
	return false
}

// cancelHere tells that the record of a task that this node has says that it is to end.
type cancelHere struct {
	cancel *api.Cancel
	client *actor.PID
	rec    records.Task
	err    error
}

// onCancel ends a task here, or has it ended where the queue is ordered.
func (q *queueMember) onCancel(ctx actor.Context, m *api.Cancel) {
	if t := q.turns[m.TaskID]; t != nil && t.begun && t.account == m.Account.ID {
		kept := &cancelHere{cancel: m, client: ctx.Sender()}
		q.node.onDisk(func(c context.Context) (err error) {
			kept.rec, err = q.node.records.Queue().Cancel(c, m.Account.ID, m.TaskID, m.Cause)
			return err
		}, func(err error) {
			kept.err = err
			q.send(q.node.queue, kept)
		})
		return
	}
	q.cancelOrdered(ctx, m, ctx.Sender())
}

func (q *queueMember) onCancelHere(ctx actor.Context, m *cancelHere) {
	if m.err != nil || !m.rec.Ends() { // it is here no more, or that is not known
		q.cancelOrdered(ctx, m.cancel, m.client)
		return
	}
	q.send(q.node.admission, &cancelRunning{m.cancel})
	if m.client != nil {
		q.send(m.client, &api.Cancelled{Found: true})
	}
}

// cancelOrdered has a task end where the queue is ordered.
func (q *queueMember) cancelOrdered(ctx actor.Context, m *api.Cancel, client *actor.PID) {
	switch {
	case q.orders != nil:
		ctx.RequestWithCustomSender(q.orders, m, client)
	default:
		q.node.background.Go(func() {
			c, cancel := context.WithTimeout(context.Background(), api.WriteTimeout)
			defer cancel()
			var x *api.Cancelled
			err := protect(func() (err error) {
				x, err = askOrderer[api.Cancelled](c, q.node, m)
				return err
			})
			switch {
			case client == nil:
			case err != nil:
				q.send(client, &failure{api.NobodyOrders().Text})
			default:
				q.send(client, x)
			}
		})
	}
}

// onQuestion answers a question about a task of the queue by its record, and sends whoever
// asks about one that waits to the node that orders the queue.
func (q *queueMember) onQuestion(w *queueWait) {
	if q.orders != nil {
		q.node.system.Root.RequestWithCustomSender(q.orders, w.message, w.client)
		return
	}
	task, account, _ := w.about()
	var p *api.Polled
	u := &queue{node: q.node}
	q.node.onDisk(func(c context.Context) error {
		found, until, waits, err := q.node.records.Queue().Status(c, account, task)
		if err != nil {
			return err
		}
		if !until.IsZero() {
			q.node.statusCache.Remember(task, account, found, until)
		}
		if p = found; waits || found.Node == q.node.cfg.Node {
			h := q.node.holder.Load()
			if h == nil || h.Node == q.node.cfg.Node {
				p = &api.Polled{Refusal: api.NobodyOrders()}
			} else {
				p = &api.Polled{Status: api.TaskPending, Node: h.Node, Executed: &api.Executed{TaskID: task}}
			}
		}
		return nil
	}, func(err error) {
		if err != nil {
			q.node.log.Error().Err(err).Str("task", task).Msg("task not read")
			p = &api.Polled{Refusal: api.RefusalFor(err)}
		}
		w.answer(u, p)
	})
}

// afterPanic has the message handled again where nobody waits for an answer to it. What it
// was about is on the disk, or told again.
func (q *queueMember) afterPanic(_ actor.Context, message any, _ *api.Refusal) bool {
	switch message.(type) {
	case *api.QueueTurns, *flush, *enqueue, *api.Cancel, *api.Poll, *api.Follow:
		return false
	case *actor.Stopping:
		q.stop()
		return true
	case *actor.Started:
		message = &queueTick{}
	}
	time.AfterFunc(again, func() { q.send(q.node.queue, message) })
	return true
}

// askAt asks an actor of a node: of this one here, or whichever answers at another one.
func askAt[T any](ctx context.Context, n *nodeParts, node string, here *actor.PID, m any) (*T, error) {
	if node == n.cfg.Node {
		return ask[T](ctx, n.system, here, m)
	}
	x, err := n.cfg.Peers.Ask(ctx, node, m)
	if err != nil {
		return nil, err
	}
	return take[T](x)
}

// askOrderer asks the node that orders the queue.
func askOrderer[T any](ctx context.Context, n *nodeParts, m any) (*T, error) {
	h := n.holder.Load()
	if h == nil {
		return nil, errNobodyOrders
	}
	here := n.orderer.Load()
	if h.Node == n.cfg.Node && here == nil {
		return nil, errNobodyOrders
	}
	x, err := askAt[T](ctx, n, h.Node, here, m)
	if err != nil {
		return nil, fmt.Errorf("ask the node that orders the queue: %w", err)
	}
	return x, nil
}
