package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/actors/api"
)

// Do carries out a verb on the node or the nodes that its definition names: see
// [api.Verb].
func (c *Router) Do(ctx context.Context, m any) (any, error) {
	v := api.VerbOf(m)
	switch {
	case v == nil:
		return nil, fmt.Errorf("ask the nodes: there is no answer to %T", m)
	case v.Worker != nil:
		return c.doAtWorker(ctx, v, m)
	case v.Node != nil:
		return c.doAtNode(ctx, v, m)
	case v.Queue:
		return c.doAtQueue(ctx, v, m)
	case v.Task != nil:
		return c.doAtTask(ctx, v, m)
	case v.All != nil:
		return c.doAtAll(ctx, v, m)
	}
	return c.local.Do(ctx, m)
}

// doAtWorker goes to the node that has a worker, by its identifier or its name.
func (c *Router) doAtWorker(ctx context.Context, v *api.Verb, m any) (any, error) {
	all, err := api.Ask(ctx, c, &api.SurveyWorkers{})
	if err != nil {
		return nil, err
	}
	m = v.Copy(m)
	name := v.Worker(m)
	var found []api.WorkerInfo
	for _, w := range all.Workers {
		if w.ID == *name || w.Name == *name {
			found = append(found, w)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("there is no worker %q on any node that is known", *name)
	case len(found) > 1:
		return nil, fmt.Errorf("workers of %s and %s are called %q: name one by its identifier", found[0].Node, found[1].Node, *name)
	}
	*name = found[0].ID
	return c.doAt(ctx, v, m, found[0].Node)
}

// doAtNode goes to the node that the message names: to this one, where it names
// none.
func (c *Router) doAtNode(ctx context.Context, v *api.Verb, m any) (any, error) {
	if v.Check != nil {
		all, err := api.Ask(ctx, c, &api.SurveyWorkers{})
		if err == nil {
			err = v.Check(m, all.Workers)
		}
		if err != nil {
			return nil, err
		}
	}
	m = v.Copy(m)
	name := v.Node(m)
	node := *name
	*name = ""
	return c.doAt(ctx, v, m, node)
}

// doAt goes to one node. One that does not answer is an error: nothing is kept for
// it.
func (c *Router) doAt(ctx context.Context, v *api.Verb, m any, node string) (x any, err error) {
	if node == "" || node == c.cfg.Node {
		node = c.cfg.Node
		x, err = c.local.Do(ctx, m)
	} else {
		x, err = c.remote.askNamed(ctx, node, m, replyTimeout+v.Takes(m))
		if err == nil && !v.IsReply(x) {
			err = fmt.Errorf("ask %s: it answers %T with %T", node, m, x)
		}
	}
	if err == nil && v.From != nil {
		v.From(x, node)
	}
	return x, err
}

// faultIn is why nothing was done, where a reply says so.
func faultIn(reply any) error {
	if f, ok := reply.(interface{ Err() error }); ok {
		return f.Err()
	}
	return nil
}

// doAtAll goes to all nodes at once.
func (c *Router) doAtAll(ctx context.Context, v *api.Verb, m any) (any, error) {
	known := c.peers.known()
	parts, errs := make([]api.Part, len(known)), make([]error, len(known))
	var asked sync.WaitGroup
	for i, p := range known {
		asked.Go(func() {
			parts[i].Node = p.name
			parts[i].Reply, errs[i] = c.doAtPeer(ctx, v, m, p)
		})
	}
	mine, err := c.local.Do(ctx, m)
	asked.Wait()
	if err == nil {
		err = faultIn(mine)
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	own, all, told := api.Part{Node: c.cfg.Node, Reply: mine}, make([]api.Part, 0, len(known)+1), false
	for _, p := range parts {
		if !told && p.Node > c.cfg.Node {
			all, told = append(all, own), true
		}
		if p.Reply != nil {
			all = append(all, p)
		}
	}
	if !told {
		all = append(all, own)
	}
	return v.All.Merge(m, all), nil
}

// doAtPeer asks one of all nodes; nil: it is not there, and nothing is assumed.
func (c *Router) doAtPeer(ctx context.Context, v *api.Verb, m any, p peer) (any, error) {
	alive, up := c.peers.aliveContext(p.name)
	if up {
		ctx, cancel := within(ctx, alive, replyTimeout+v.Takes(m))
		defer cancel(nil)
		x, err := c.remote.askVerb(ctx, v, p.name, m)
		if err == nil {
			err = faultIn(x)
		}
		switch {
		case err == nil:
			return x, nil
		case v.All.Later && !undelivered(err) && !lost(err):
			return nil, err
		}
	}
	if v.All.Later {
		c.inflight.addNotice(p.name, m)
		if up && c.peers.isUp(p.name) { // it was away, and is back already
			c.sendNotices(p.name)
		}
	}
	if v.All.Absent != nil {
		return v.All.Absent(m, p.absent("", true)), nil
	}
	return nil, nil
}

// doAtTask asks about a task: here, then at its known node, then at all nodes. When this
// node leaves, clients that wait for the end of a task get its present state.
func (c *Router) doAtTask(ctx context.Context, v *api.Verb, m any) (any, error) {
	poll, ok := m.(*api.Poll)
	if !ok || poll.Wait <= 0 {
		return c.findTask(ctx, v, m)
	}
	c.waits.Add(1)
	defer c.waits.Add(-1)
	stays, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.leaving, func() { cancel(errLeaving) })()
	x, err := c.findTask(stays, v, m)
	if err == nil || !errors.Is(context.Cause(stays), errLeaving) {
		return x, err
	}
	now := *poll
	now.Wait = 0
	return c.findTask(ctx, v, &now)
}

// maxHops is how often a question about a task follows it to another node: tasks of the
// queue go from node to node.
const maxHops = 8

func (c *Router) findTask(ctx context.Context, v *api.Verb, m any) (any, error) {
	began := time.Now()
	for hops, next := 0, ""; ; hops++ {
		x, err := c.findTaskAt(ctx, v, m, next)
		if err != nil || !v.Task.Found(x) {
			return x, err
		}
		at := v.Task.At(x)
		if at == "" || at == next || at == c.cfg.Node && next == "" || hops == maxHops {
			return x, nil
		}
		if next = at; next == c.cfg.Node {
			next = ""
		}
		if poll, ok := m.(*api.Poll); ok {
			left := *poll
			left.Wait = max(poll.Wait-time.Since(began), 0)
			m, began = &left, time.Now()
		}
	}
}

// findTaskAt asks about a task at a node that another one has named; none: wherever it is.
func (c *Router) findTaskAt(ctx context.Context, v *api.Verb, m any, node string) (any, error) {
	if node != "" {
		return c.askAboutTask(ctx, v, m, node)
	}
	x, err := c.aboutTaskHere(ctx, m)
	if err != nil {
		return nil, err
	}
	node = v.Task.At(x)
	if node == c.cfg.Node {
		node = ""
	}
	if node == "" && v.Task.Found(x) {
		return x, nil
	}
	id := v.Task.ID(m)
	if node == "" {
		node = c.locations.get(id)
	}
	if node != "" {
		return c.askAboutTask(ctx, v, m, node)
	}
	at, y := c.remote.findAny(ctx, replyTimeout+v.Takes(m), m, func(y any) bool {
		return v.IsReply(y) && asAsked(m, y) && v.Task.Found(y) && v.Task.At(y) != c.cfg.Node // which has said what it knows
	})
	if y == nil {
		return x, nil
	}
	c.locations.put(id, at)
	return y, nil
}

// asAsked reports whether another node's answer to a poll has the outcome that was asked for.
func asAsked(m, y any) bool {
	poll, polls := m.(*api.Poll)
	p, polled := y.(*api.Polled)
	return !polls || !polled || poll.Answers(p)
}

// askAboutTask asks the node that has a task, or should know where it is.
func (c *Router) askAboutTask(ctx context.Context, v *api.Verb, m any, node string) (any, error) {
	alive, up := c.peers.aliveContext(node)
	switch {
	case alive != nil && errors.Is(context.Cause(alive), errLeaving):
		return nil, errLeaving
	case !up:
		return c.taskLost(ctx, v, m, node)
	}
	asking, cancel := within(ctx, alive, replyTimeout+v.Takes(m))
	defer cancel(nil)
	y, err := c.remote.askVerb(asking, v, node, m)
	if err == nil && !asAsked(m, y) {
		err = errors.New("the answer lacks what was asked for")
	}
	switch {
	case err == nil:
		return y, nil
	case undelivered(err) || lost(err):
		return c.taskLost(ctx, v, m, node)
	case ctx.Err() != nil || errors.Is(err, errLeaving):
		return nil, err
	}
	// It is there, and has no answer now: nothing is known of the task.
	return nil, fmt.Errorf("ask about a task: %w: %w", unreachable(node), err)
}

// aboutTaskHere asks this node's actors, and its requests that are on their way.
func (c *Router) aboutTaskHere(ctx context.Context, m any) (any, error) {
	x, err := c.local.Do(ctx, m)
	if end, ok := m.(*api.Cancel); ok && err == nil && !x.(*api.Cancelled).Found && c.inflight.cancelled(end) {
		x = &api.Cancelled{Found: true}
	}
	return x, err
}

// taskLost answers about a task whose node is down, by its record. A task that
// fails for that is dropped by its node should that be back.
func (c *Router) taskLost(ctx context.Context, v *api.Verb, m any, node string) (any, error) {
	if v.Task.Record == nil {
		return v.Task.Lost(nil), nil
	}
	poll := v.Task.Record(m)
	p, err := c.local.PollLost(ctx, poll)
	switch {
	case err != nil:
		return nil, err
	case p.Refusal.NotFound(): // what is here knows nothing of it
		p = &api.Polled{Refusal: unreachable(node)}
	case p.Status == api.TaskFailed:
		c.inflight.addNotice(node, &api.Cancel{TaskID: poll.TaskID, Account: poll.Account, Cause: api.CauseClient})
	}
	return v.Task.Lost(p), nil
}
