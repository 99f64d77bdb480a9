package cluster

import (
	"context"
	"fmt"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// The node that has the worker runs an operator's command. If a named node does not
// answer, the command fails: nothing is kept for that node.

// Edge is what this node shows to clients.
type Edge interface {
	// Drains reports whether new tasks are refused; Pause begins or ends that.
	Drains() bool
	Pause(on bool)
	Status() api.Status
	// LinkViewers returns how many clients use each link of an account.
	LinkViewers(account string) map[string]int
	// SessionTicket returns a ticket for a session that this node has made, by its hash, and uses it
	// up if it is to; nil: there is none.
	SessionTicket(sum []byte, session string, use bool) []byte
	// EndClients ends the client that is attached to a session of an account over a socket of this
	// node, and reports whether there is one.
	EndClients(account, session, why string) bool
}

// Pause makes a node refuse tasks, or accept them again, and returns its status; nil
// changes nothing. An empty name is this node.
func (c *Router) Pause(ctx context.Context, node string, on *bool) (api.Status, error) {
	if node == "" || node == c.cfg.Node {
		return *c.pauseHere(&link.PauseNode{On: on}), nil
	}
	x, err := c.remote.askNamed(ctx, node, &link.PauseNode{On: on}, replyTimeout)
	if err != nil {
		return api.Status{}, err
	}
	s, ok := x.(*api.Status)
	if !ok {
		return api.Status{}, fmt.Errorf("ask %s: it answers a pause with %T", node, x)
	}
	return *s, nil
}

func (c *Router) pauseHere(m *link.PauseNode) *api.Status {
	if m.On != nil {
		c.edge.Pause(*m.On)
		c.Changed(api.WorkerInfo{}) // the others learn it soon
	}
	s := c.edge.Status()
	return &s
}

// LinkViewers returns how many clients of other nodes use each link of an account.
func (c *Router) LinkViewers(ctx context.Context, account string) map[string]int {
	all := map[string]int{}
	for _, x := range askAll[link.LinkViewersReply](ctx, &c.remote, &link.LinkViewers{Account: account}) {
		for id, n := range x.By {
			all[id] += n
		}
	}
	return all
}

// EndClients ends the client of a session at all other nodes, and reports whether there is one:
// it is connected to one of them.
func (c *Router) EndClients(ctx context.Context, account, session, why string) (found bool) {
	for _, x := range askAll[link.ClientsEnded](ctx, &c.remote, &link.EndClients{Account: account, Session: session, Why: why}) {
		found = found || x.Found
	}
	return found
}

// SessionTicket returns a ticket for a session that another node has made; nil: none has.
func (c *Router) SessionTicket(ctx context.Context, sum []byte, session string, use bool) []byte {
	_, x := findAt(ctx, &c.remote, replyTimeout, &link.FindTicket{Sum: sum, Session: session, Use: use}, func(x *link.TicketFound) bool { return len(x.Ticket) > 0 })
	if x == nil {
		return nil
	}
	return x.Ticket
}

// StopClients ends the clients of other nodes that use sessions of this one, which stops. The
// sessions go on elsewhere, and so do clients that come again.
func (c *Router) StopClients() { c.hosted.stopClients() }
