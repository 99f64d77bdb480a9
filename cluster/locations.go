package cluster

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// maxLocations bounds how many tasks are remembered with their nodes. One that is
// forgotten is looked for.
const maxLocations = 100_000

// taskLocations remembers which node has which task.
type taskLocations struct {
	mu    sync.Mutex
	of    map[string]string
	order []string
}

func (h *taskLocations) put(task, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]string{}
	}
	if _, known := h.of[task]; !known {
		h.order = append(h.order, task)
	}
	h.of[task] = node
	for len(h.order) > maxLocations {
		delete(h.of, h.order[0])
		h.order = h.order[1:]
	}
}

func (h *taskLocations) get(task string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[task]
}

// sessionOf is the session that a task names; empty: none.
func sessionOf(t *engine.Task) string {
	if t.Session == nil {
		return ""
	}
	return t.Session.ID
}

// destination is the node that a request is for; empty: this one, as far as it
// knows. Workers do not move, and sessions only when their node is lost, so it may be
// a node that is down.
func (c *Router) destination(m *api.Execute) string {
	t := m.Task
	switch {
	case t.WorkerID != "":
		return c.peers.find(func(p *peer) bool { return p.workers[t.WorkerID] })
	case sessionOf(t) != "":
		if c.own.has(t.Session.ID, m.Account.ID) { // others may be said to have had it before
			return ""
		}
		return c.peers.find(func(p *peer) bool { return p.sessions[t.Session.ID] == m.Account.ID })
	case t.Session != nil && t.Session.Override && !c.own.holds(m.Account.ID):
		// It takes over a worker that the account has, wherever that is.
		return c.peers.find(func(p *peer) bool {
			for _, account := range p.sessions {
				if account == m.Account.ID {
					return p.up
				}
			}
			return false
		})
	}
	return ""
}

// keyOwner is the node that answers requests with a certain key, of those that were
// not found silent; empty: this one. All nodes that see the same others agree on it,
// so requests with one key meet each other wherever they come in.
func (c *Router) keyOwner(account, key string, silent map[string]bool) string {
	weight := func(node string) uint64 {
		h := fnv.New64a()
		for _, s := range []string{node, account, key} {
			_, _ = h.Write([]byte(s))
			_, _ = h.Write([]byte{0})
		}
		return h.Sum64()
	}
	best, most := "", uint64(0)
	if c.own.last.Load().Usable() > 0 {
		most = weight(c.cfg.Node)
	}
	for _, node := range c.peers.upNodes(func(p *peer) bool { return p.inventory.Usable() > 0 && !silent[p.name] }) {
		if w := weight(node); w > most {
			best, most = node, w
		}
	}
	return best
}

// locate asks all nodes for the session of a request that is not where it was
// thought to be. Empty: nobody has it.
func (c *Router) locate(ctx context.Context, m *api.Execute) string {
	q := &link.LocateSession{Account: m.Account.ID, Session: m.Task.Session.ID}
	node, _ := findAt(ctx, &c.remote, replyTimeout, q, func(x *link.SessionLocated) bool { return x.Here })
	return node
}

// unreachable is the answer about a task whose node is down or does not answer. The node
// may come back with the task, so the answer says nothing about the task itself.
func unreachable(node string) *api.Refusal {
	return &api.Refusal{
		Code: engine.CodeNoQuorum, RetryAfter: 2 * time.Second,
		Text: "The task is on the node " + node + ", which does not answer",
	}
}
