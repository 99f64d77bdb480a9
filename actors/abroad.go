package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// Offer tells the node what another one has free. Requests that may roam go
// there when nothing is free here.
func (n *Node) Offer(o *api.Offer) { n.parts.system.Root.Send(n.parts.pool, o) }

// Freed tells the node that another one has just ended a task of its. Its next
// offer would say the same, a moment later.
func (n *Node) Freed(node string) { n.parts.system.Root.Send(n.parts.pool, &freed{node}) }

type freed struct{ node string }

// abroad is what pool knows of other nodes: hints, each as old as the last offer
// of its node.
type abroad map[string]*api.Offer

// hear takes over an offer in place of the last one of that node. A node that has
// nothing, because it is down for one, is not remembered.
func (a abroad) hear(o *api.Offer) *api.Offer {
	copied := *o
	if a[o.Node] = &copied; o.Free == 0 && o.Usable == 0 && len(o.Own) == 0 && len(o.Held) == 0 {
		delete(a, o.Node)
	}
	return &copied
}

// best is the node that has the most workers for an account; nil: none has any.
func (a abroad) best(account string) *api.Offer {
	var best *api.Offer
	for _, o := range a {
		n := o.For(account)
		if n > 0 && (best == nil || n > best.For(account) || n == best.For(account) && o.Node < best.Node) {
			best = o
		}
	}
	return best
}

// held is how many workers the sessions of an account hold on other nodes.
func (a abroad) held(account string) (n int) {
	for _, o := range a {
		n += o.Held[account]
	}
	return n
}

// usable is how many workers other nodes have that take tasks.
func (a abroad) usable() (n int) {
	for _, o := range a {
		n += o.Usable
	}
	return n
}

// roams reports whether a job may be played on another node, as far as this one
// can tell.
func (p *pool) roams(j *job) bool {
	if !j.adm.Execute.Roams || j.aimed {
		return false
	}
	if j.opens() {
		some, _ := p.mayOpen(j)
		return some
	}
	return true
}

// away finds the node that a job is to try that got no worker here; nil: none.
func (p *pool) away(j *job, no *api.Refusal) *api.Offer {
	if len(p.abroad) == 0 || no.Code != engine.CodeNoWorkerAvailable && no.Code != engine.CodeSessionLimit || !p.roams(j) {
		return nil
	}
	return p.abroad.best(j.account())
}

// sendAway ends a job here: its client takes it to another node, and comes back
// with it when that one refuses it. It keeps its place.
func (p *pool) sendAway(ctx actor.Context, j *job, o *api.Offer) {
	// Until it is heard of again, the node has one less. Whether that was one of
	// the account's own matters to nobody else.
	o.Free--
	e := &api.Elsewhere{Node: o.Node, Place: api.Place{Until: j.until}}
	if j.wait != nil {
		e.Place.Arrival, e.Place.Turn = j.wait.arrival, j.wait.turn
	}
	no := api.Refuse(engine.CodeNoWorkerAvailable, "")
	no.Elsewhere = e
	p.refuse(ctx, j, no)
}

// onOffer sends those who wait to the workers that another node has free.
func (p *pool) onOffer(ctx actor.Context, m *api.Offer) { p.useOffer(ctx, p.abroad.hear(m)) }

func (p *pool) onFreed(ctx actor.Context, m *freed) {
	if o := p.abroad[m.node]; o != nil {
		o.Free++
		p.useOffer(ctx, o)
	}
}

func (p *pool) useOffer(ctx actor.Context, o *api.Offer) {
	for p.queue.len() > 0 {
		w := p.queue.next([]string{""}, func(w *waiter) bool {
			return o.For(w.Account) > 0 && p.roams(p.jobs[w.Task])
		})
		if w == nil {
			return
		}
		j := p.jobs[w.Task]
		j.timer.Stop()
		j.timer = nil
		p.sendAway(ctx, j, o)
	}
}

// returned gives a job its place back that another node had no worker for after
// all.
func (p *pool) returned(j *job) {
	at := j.adm.Execute.Place
	if at.Until.IsZero() {
		return
	}
	j.until = at.Until
	if at.Arrival != 0 {
		j.wait = &waiter{Task: j.task(), Account: j.account(), arrival: at.Arrival, turn: at.Turn}
	}
	if o := p.abroad[at.Refused]; o != nil {
		o.Free, o.Own = 0, nil
	}
}

// guestWait is how long a guest waits: for a worker that has answered its last
// task and is about to be free. For anything longer it waits where it came from.
const guestWait = 100 * time.Millisecond

// movedWait is how long a request waits for the browser that its session is put
// into.
const movedWait = 20 * time.Second

// patience is until when a job waits that has just come.
func patience(x *api.Execute, now time.Time) time.Time {
	if x.Moved { // its worker gets a browser
		return now.Add(max(movedWait, min(x.Task.QueueTimeout, engine.MaxQueueTimeout)))
	}
	if x.Guest {
		return now.Add(guestWait)
	}
	return now.Add(min(x.Task.QueueTimeout, engine.MaxQueueTimeout))
}
