package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/engine"
)

// Offer tells the node what another node has free. Forwardable requests go there
// when no worker is free here.
func (n *Node) Offer(o *api.Offer) { n.parts.system.Root.Send(n.parts.pool, o) }

// Freed tells the node that another node has just finished a task for it, a
// moment before that node's next offer says so.
func (n *Node) Freed(node string) { n.parts.system.Root.Send(n.parts.pool, &peerFreed{node}) }

type peerFreed struct{ node string }

// mayForward reports whether a job may run on another node, as far as this node
// knows.
func (p *pool) mayForward(j *schedule.Job) bool {
	if !j.Request.Execute.Forwardable || j.Named {
		return false
	}
	if j.OpensSession() {
		some, _ := p.mayOpenSession(j)
		return some
	}
	return true
}

// peerFor selects the node that a job tries after it got no worker here; nil:
// none.
func (p *pool) peerFor(j *schedule.Job, no *api.Refusal) *api.Offer {
	if len(p.peers) == 0 || no.Code != engine.CodeNoWorkerAvailable && no.Code != engine.CodeSessionLimit || !p.mayForward(j) {
		return nil
	}
	return p.peers.Best(j.Account())
}

// forward ends a job here: its client takes it to another node, and returns with
// it if that node refuses it. The job keeps its place in the queue.
func (p *pool) forward(ctx actor.Context, j *schedule.Job, o *api.Offer) {
	// Until its next offer, the node has one less. Whether that was one of the
	// account's own matters to no other account.
	o.Free--
	e := &api.Elsewhere{Node: o.Node, Place: api.Place{Until: j.Until}}
	if j.Wait != nil {
		e.Place.Arrival, e.Place.Turn = j.Wait.Arrival, j.Wait.Turn
	}
	no := api.Refuse(engine.CodeNoWorkerAvailable, "")
	no.Elsewhere = e
	p.refuse(ctx, j, no)
}

// onOffer forwards waiting jobs to the workers that another node has free.
func (p *pool) onOffer(ctx actor.Context, m *api.Offer) { p.useOffer(ctx, p.peers.Update(m)) }

func (p *pool) onPeerFreed(ctx actor.Context, m *peerFreed) {
	if o := p.peers[m.node]; o != nil {
		o.Free++
		p.useOffer(ctx, o)
	}
}

func (p *pool) useOffer(ctx actor.Context, o *api.Offer) {
	for p.queue.Len() > 0 {
		w := p.queue.Next([]string{""}, func(w *schedule.Waiter) bool {
			return o.For(w.Account) > 0 && p.mayForward(p.jobs[w.Task])
		})
		if w == nil {
			return
		}
		j := p.jobs[w.Task]
		j.Timer.Stop()
		j.Timer = nil
		p.forward(ctx, j, o)
	}
}

// restorePlace gives a job its place in the queue back after another node has
// refused it.
func (p *pool) restorePlace(j *schedule.Job) {
	at := j.Request.Execute.Place
	if at.Until.IsZero() {
		return
	}
	j.Until = at.Until
	if at.Arrival != 0 {
		j.Wait = &schedule.Waiter{Task: j.Task(), Account: j.Account(), Arrival: at.Arrival, Turn: at.Turn}
	}
	if o := p.peers[at.Refused]; o != nil {
		o.Free, o.Own = 0, nil
	}
}
