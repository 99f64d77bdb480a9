package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"troupe/actors"
	"troupe/engine"
)

// homesMost bounds how many tasks are remembered with their nodes. One that is
// forgotten is looked for.
const homesMost = 100_000

// homes remembers which node has which task.
type homes struct {
	mu    sync.Mutex
	of    map[string]string
	order []string
}

func (h *homes) put(task, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]string{}
	}
	if _, known := h.of[task]; !known {
		h.order = append(h.order, task)
	}
	h.of[task] = node
	for len(h.order) > homesMost {
		delete(h.of, h.order[0])
		h.order = h.order[1:]
	}
}

func (h *homes) get(task string) string {
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
// knows. Workers do not move, and sessions
// only when their node is lost, so it may be one that is down.
func (c *Company) destination(m *actors.Execute) string {
	t := m.Task
	switch {
	case t.WorkerID != "":
		return c.peers.at(func(p *peer) bool { return p.workers[t.WorkerID] })
	case sessionOf(t) != "":
		if c.has(t.Session.ID, m.Account.ID) { // others may be said to have had it before
			return ""
		}
		return c.peers.at(func(p *peer) bool { return p.sessions[t.Session.ID] == m.Account.ID })
	case t.Session != nil && t.Session.Override && !c.holds(m.Account.ID):
		// It takes over a worker that the account has, wherever that is.
		return c.peers.at(func(p *peer) bool {
			for _, account := range p.sessions {
				if account == m.Account.ID {
					return p.up
				}
			}
			return false
		})
	case m.Idempotency.Key != "":
		return c.keeper(m.Account.ID, m.Idempotency.Key)
	}
	return ""
}

// has reports whether a session is on this node.
func (c *Company) has(session, account string) bool {
	for _, w := range c.own.Load().Workers {
		if w.Session == session && w.Account == account {
			return true
		}
	}
	return false
}

// holds reports whether a session of the account is on this node.
func (c *Company) holds(account string) bool {
	for _, w := range c.own.Load().Workers {
		if w.Session != "" && w.Account == account {
			return true
		}
	}
	return false
}

// keeper is the node that answers requests with a certain key; empty: this one.
// All nodes that see the same others agree on it, so requests with one key meet
// each other wherever they come in.
func (c *Company) keeper(account, key string) string {
	weight := func(node string) uint64 {
		h := fnv.New64a()
		for _, s := range []string{node, account, key} {
			_, _ = h.Write([]byte(s))
			_, _ = h.Write([]byte{0})
		}
		return h.Sum64()
	}
	best, most := "", uint64(0)
	if c.own.Load().usable() > 0 {
		most = weight(c.cfg.Node)
	}
	for _, node := range c.peers.ups(func(p *peer) bool { return p.inventory.usable() > 0 }) {
		if w := weight(node); w > most {
			best, most = node, w
		}
	}
	return best
}

// locate asks all nodes for the session of a request that is not where it was
// thought to be. Empty: nobody has it.
func (c *Company) locate(ctx context.Context, m *actors.Execute) string {
	q := &locate{Account: m.Account.ID, Session: m.Task.Session.ID}
	node, _ := findAt(ctx, c, wordMost, q, func(x *located) bool { return x.Here })
	return node
}

// findAt asks all nodes that are up at once, and gives the first answer that will
// do, with its node; empty: none did.
func findAt[T any](ctx context.Context, c *Company, most time.Duration, m any, will func(*T) bool) (string, *T) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	type found struct {
		node string
		x    *T
	}
	nodes := c.peers.ups(nil)
	answers := make(chan found, len(nodes))
	for _, node := range nodes {
		go func() {
			alive, up := c.peers.aliveness(node)
			if !up {
				answers <- found{}
				return
			}
			ctx, cancel := within(ctx, alive, most)
			defer cancel(nil)
			x, err := askFor[T](ctx, c.wires, node, m)
			if err != nil || !will(x) {
				answers <- found{}
				return
			}
			answers <- found{node, x}
		}()
	}
	for range nodes {
		if f := <-answers; f.node != "" {
			return f.node, f.x
		}
	}
	return "", nil
}

// question is what is asked about a task, wherever it is.
type question[T any] struct {
	task    string
	most    time.Duration // for the answer
	here    func() (*T, error)
	message any // for other nodes
	unknown func(*T) bool
	down    func(node string) (*T, error) // its node is down
	// at names the node that the answer says the task is on; nil: none does.
	at func(*T) string
}

// find asks about a task: here, at the node that has it as far as is known, at
// all.
func find[T any](ctx context.Context, c *Company, q question[T]) (*T, error) {
	x, err := q.here()
	if err != nil {
		return nil, err
	}
	node := ""
	if q.at != nil {
		if node = q.at(x); node == c.cfg.Node {
			node = ""
		}
	}
	if node == "" && !q.unknown(x) {
		return x, nil
	}
	if node == "" {
		node = c.homes.get(q.task)
	}
	if node == "" {
		if at, y := findAt(ctx, c, q.most, q.message, func(y *T) bool { return !q.unknown(y) }); y != nil {
			c.homes.put(q.task, at)
			return y, nil
		}
		return x, nil
	}
	alive, up := c.peers.aliveness(node)
	switch {
	case alive != nil && errors.Is(context.Cause(alive), errLeaving):
		return nil, errLeaving
	case !up:
		return q.down(node)
	}
	asking, cancel := within(ctx, alive, q.most)
	defer cancel(nil)
	y, err := askFor[T](asking, c.wires, node, q.message)
	switch {
	case err == nil:
		return y, nil
	case undelivered(err) || lost(err):
		return q.down(node)
	case ctx.Err() != nil || errors.Is(err, errLeaving):
		return nil, err
	}
	// It is there, and has no answer now: nothing is known of the task.
	return nil, fmt.Errorf("ask about a task: %w: %w", unreachable(node), err)
}

// Poll tells what has become of an asynchronous task: see [actors.Node.Poll]. Who
// waits for that is told how far it is when this node leaves.
func (c *Company) Poll(ctx context.Context, m *actors.Poll) (*actors.Polled, error) {
	if m.Wait <= 0 {
		return c.poll(ctx, m)
	}
	c.waits.Add(1)
	defer c.waits.Add(-1)
	stays, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.leaving, func() { cancel(errLeaving) })()
	x, err := c.poll(stays, m)
	if err == nil || !errors.Is(context.Cause(stays), errLeaving) {
		return x, err
	}
	now := *m
	now.Wait = 0
	return c.poll(ctx, &now)
}

func (c *Company) poll(ctx context.Context, m *actors.Poll) (*actors.Polled, error) {
	return find(ctx, c, question[actors.Polled]{
		task: m.TaskID, most: m.Wait + wordMost, message: m,
		here:    func() (*actors.Polled, error) { return c.local.Poll(ctx, m) },
		unknown: func(p *actors.Polled) bool { return notFound(p.Refusal) },
		at:      func(p *actors.Polled) string { return p.Node },
		down:    func(node string) (*actors.Polled, error) { return c.pollLost(ctx, node, m) },
	})
}

// pollLost tells of a task whose node is down: it has failed, and its node is to
// drop it should it be back.
func (c *Company) pollLost(ctx context.Context, node string, m *actors.Poll) (*actors.Polled, error) {
	p, err := c.local.PollLost(ctx, m)
	switch {
	case err != nil:
		return nil, err
	case notFound(p.Refusal): // what is here knows nothing of it
		return &actors.Polled{Refusal: unreachable(node)}, nil
	case p.Status == actors.TaskFailed:
		c.trips.giveUp(node, &actors.Cancel{TaskID: m.TaskID, Account: m.Account, Cause: actors.CauseClient})
	}
	return p, nil
}

// Follow tells of the steps of an asynchronous task: see [actors.Node.Follow].
func (c *Company) Follow(ctx context.Context, m *actors.Follow) (*actors.Followed, error) {
	return find(ctx, c, question[actors.Followed]{
		task: m.TaskID, most: m.Wait + wordMost, message: m,
		here:    func() (*actors.Followed, error) { return c.local.Follow(ctx, m) },
		unknown: func(f *actors.Followed) bool { return notFound(f.Refusal) },
		at:      func(f *actors.Followed) string { return f.Node },
		down: func(node string) (*actors.Followed, error) {
			p, err := c.pollLost(ctx, node, &actors.Poll{TaskID: m.TaskID, Account: m.Account})
			if err != nil {
				return nil, err
			}
			return &actors.Followed{Status: p.Status, Refusal: p.Refusal}, nil
		},
	})
}

// Cancel ends a task wherever it is: see [actors.Node.Cancel].
func (c *Company) Cancel(ctx context.Context, m *actors.Cancel) (*actors.Cancelled, error) {
	return find(ctx, c, question[actors.Cancelled]{
		task: m.TaskID, most: wordMost, message: m,
		here: func() (*actors.Cancelled, error) {
			x, err := c.local.Cancel(ctx, m)
			if err == nil && !x.Found && c.trips.cancelled(m) {
				x = &actors.Cancelled{Found: true}
			}
			return x, err
		},
		unknown: func(x *actors.Cancelled) bool { return !x.Found },
		down:    func(string) (*actors.Cancelled, error) { return &actors.Cancelled{}, nil },
	})
}

func notFound(no *actors.Refusal) bool { return no != nil && no.Code == engine.CodeTaskNotFound }

// unreachable is the answer about a task whose node is down, or there and has no
// answer. It may be back with the task, so nothing is said of that.
func unreachable(node string) *actors.Refusal {
	return &actors.Refusal{
		Code: engine.CodeNoQuorum, RetryAfter: 2 * time.Second,
		Text: "The task is on the node " + node + ", which does not answer",
	}
}
