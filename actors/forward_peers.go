package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/engine"
)

// PeerReports tells the node what another node has free. Forwardable requests go there
// when no worker is free here.
func (n *Node) PeerReports(o *api.PeerCapacity) { n.parts.system.Root.Send(n.parts.pool, o) }

// PeerFreed tells the node that another node has just finished a task for it, a
// moment before that node's next offer says so.
func (n *Node) PeerFreed(node string) { n.parts.system.Root.Send(n.parts.pool, &peerFreed{node}) }

type peerFreed struct{ node string }

// forward ends a job here: its client takes it to another node, and returns with
// it if that node refuses it. The job keeps its place in the queue.
func (p *pool) forward(ctx actor.Context, j *schedule.Job, o *api.PeerCapacity) {
	no := api.Refuse(engine.CodeNoWorkerAvailable, "")
	no.ForwardTo = p.scheduler.Forward(j, o)
	p.refuse(ctx, j, no)
}

// onOffer forwards waiting jobs to the workers that another node has free.
func (p *pool) onOffer(ctx actor.Context, m *api.PeerCapacity) {
	p.useOffer(ctx, p.scheduler.Peers.Update(m))
}

func (p *pool) onPeerFreed(ctx actor.Context, m *peerFreed) {
	if o := p.scheduler.Peers[m.node]; o != nil {
		o.Free++
		p.useOffer(ctx, o)
	}
}

func (p *pool) useOffer(ctx actor.Context, o *api.PeerCapacity) {
	for j := p.scheduler.NextForPeer(o); j != nil; j = p.scheduler.NextForPeer(o) {
		p.forward(ctx, j, o)
	}
}
