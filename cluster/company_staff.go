package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"troupe/actors"
)

// The operator's orders are carried out by the node that has the worker. A node
// that is named and does not answer is an error: nothing is kept for it.

// Edge is what this node shows to clients.
type Edge interface {
	// Drains says that no new tasks are taken; Pause lets it be so, or not.
	Drains() bool
	Pause(on bool)
	Status() actors.Status
	// Looking is how many look through each link of an account.
	Looking(account string) map[string]int
}

// The messages of orders.
type (
	// pausing lets a node take no more tasks, or take them again; nil: neither.
	// Reply: [actors.Status].
	pausing struct {
		On *bool `json:"On"`
	}
	// looking asks who looks through the links of an account. Reply: lookers.
	looking struct {
		Account string `json:"Account"`
	}
	lookers struct {
		By map[string]int `json:"By"`
	}
)

// Survey lists the workers of all nodes, for the operator. Those of a node that
// does not answer are offline.
func (c *Company) Survey(ctx context.Context, m *actors.SurveyWorkers) (*actors.Workers, error) {
	known := c.peers.known()
	lists := make([][]actors.WorkerInfo, len(known))
	var asked sync.WaitGroup
	for i, p := range known {
		asked.Go(func() {
			if p.up {
				ctx, cancel := within(ctx, p.alive, wordMost)
				defer cancel(nil)
				if got, err := askFor[actors.Workers](ctx, c.wires, p.name, m); err == nil {
					lists[i] = got.Workers
					return
				}
			}
			lists[i] = p.absent("", true)
		})
	}
	mine, err := c.local.Survey(ctx, m)
	asked.Wait()
	if err != nil {
		return nil, err
	}
	all, told := &actors.Workers{Workers: []actors.WorkerInfo{}}, false
	add := func(node string, workers []actors.WorkerInfo) {
		for _, w := range workers {
			w.Node = node
			all.Workers = append(all.Workers, w)
		}
	}
	for i, p := range known {
		if !told && p.name > c.cfg.Node {
			add(c.cfg.Node, mine.Workers)
			told = true
		}
		add(p.name, lists[i])
	}
	if !told {
		add(c.cfg.Node, mine.Workers)
	}
	return all, nil
}

// AddWorker adds a worker to a node: to this one, where none is named.
func (c *Company) AddWorker(ctx context.Context, m *actors.AddWorker) (actors.WorkerInfo, error) {
	all, err := c.Survey(ctx, &actors.SurveyWorkers{})
	if err != nil {
		return actors.WorkerInfo{}, err
	}
	for _, w := range all.Workers {
		if w.Name == m.Name {
			return actors.WorkerInfo{}, fmt.Errorf("there is a worker %q already, at %s", m.Name, w.Node)
		}
	}
	node := m.Node
	if node == "" {
		node = c.cfg.Node
	}
	short := *m
	short.Node = ""
	return c.order(ctx, node, &short, wordMost+actors.WriteTimeout, func() (actors.WorkerInfo, error) { return c.local.AddWorker(ctx, &short) })
}

// DrainWorker tells a worker to take no more tasks, wherever it is.
func (c *Company) DrainWorker(ctx context.Context, m *actors.DrainWorker) (actors.WorkerInfo, error) {
	return c.atWorker(ctx, m.Worker, func(id string) any { return &actors.DrainWorker{Worker: id} }, wordMost,
		func() (actors.WorkerInfo, error) { return c.local.DrainWorker(ctx, m) })
}

// ResumeWorker lets a drained worker take tasks again, wherever it is.
func (c *Company) ResumeWorker(ctx context.Context, m *actors.ResumeWorker) (actors.WorkerInfo, error) {
	return c.atWorker(ctx, m.Worker, func(id string) any { return &actors.ResumeWorker{Worker: id} }, wordMost,
		func() (actors.WorkerInfo, error) { return c.local.ResumeWorker(ctx, m) })
}

// RemoveWorker ends a worker that was added and forgets it, wherever it is.
func (c *Company) RemoveWorker(ctx context.Context, m *actors.RemoveWorker) (actors.WorkerInfo, error) {
	return c.atWorker(ctx, m.Worker, func(id string) any { return &actors.RemoveWorker{Worker: id, Grace: m.Grace} }, m.Grace+margin,
		func() (actors.WorkerInfo, error) { return c.local.RemoveWorker(ctx, m) })
}

// atWorker gives an order to the node that has a worker, by its identifier or its
// name.
func (c *Company) atWorker(ctx context.Context, who string, m func(id string) any, most time.Duration, here func() (actors.WorkerInfo, error)) (actors.WorkerInfo, error) {
	all, err := c.Survey(ctx, &actors.SurveyWorkers{})
	if err != nil {
		return actors.WorkerInfo{}, err
	}
	var found []actors.WorkerInfo
	for _, w := range all.Workers {
		if w.ID == who || w.Name == who {
			found = append(found, w)
		}
	}
	switch {
	case len(found) == 0:
		return actors.WorkerInfo{}, fmt.Errorf("there is no worker %q on any node that is known", who)
	case len(found) > 1:
		return actors.WorkerInfo{}, fmt.Errorf("workers of %s and %s are called %q: name one by its identifier", found[0].Node, found[1].Node, who)
	}
	return c.order(ctx, found[0].Node, m(found[0].ID), most, here)
}

// order gives an order about a worker to a node.
func (c *Company) order(ctx context.Context, node string, m any, most time.Duration, here func() (actors.WorkerInfo, error)) (w actors.WorkerInfo, err error) {
	if node == c.cfg.Node {
		w, err = here()
	} else {
		var x *actors.WorkerChanged
		x, err = askOne[actors.WorkerChanged](ctx, c, node, m, most)
		if err == nil {
			w, err = x.Result()
		}
	}
	if err != nil {
		return actors.WorkerInfo{}, err
	}
	w.Node = node
	return w, nil
}

// askOne asks a node that was named, and says in a sentence where it is not there.
func askOne[T any](ctx context.Context, c *Company, node string, m any, most time.Duration) (*T, error) {
	alive, up := c.peers.aliveness(node)
	if !up {
		return nil, fmt.Errorf("the node %q does not answer, or there is none of this name", node)
	}
	ctx, cancel := within(ctx, alive, most)
	defer cancel(nil)
	x, err := askFor[T](ctx, c.wires, node, m)
	if undelivered(err) || lost(err) {
		return nil, fmt.Errorf("the node %q does not answer", node)
	}
	return x, err
}

// obey answers an order of the operator that another node passes on; nil: it is
// none.
func (c *Company) obey(ctx context.Context, m any) *actors.WorkerChanged {
	switch m := m.(type) {
	case *actors.AddWorker:
		return actors.Changed(c.local.AddWorker(ctx, m))
	case *actors.DrainWorker:
		return actors.Changed(c.local.DrainWorker(ctx, m))
	case *actors.ResumeWorker:
		return actors.Changed(c.local.ResumeWorker(ctx, m))
	case *actors.RemoveWorker:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Grace+margin)
		defer cancel()
		return actors.Changed(c.local.RemoveWorker(ctx, m))
	}
	return nil
}

// Pause lets a node take no more tasks, or take them again, and says how it is
// then; nil: it only says that. No name is this node.
func (c *Company) Pause(ctx context.Context, node string, on *bool) (actors.Status, error) {
	if node == "" || node == c.cfg.Node {
		return *c.paused(&pausing{on}), nil
	}
	x, err := askOne[actors.Status](ctx, c, node, &pausing{on}, wordMost)
	if err != nil {
		return actors.Status{}, err
	}
	return *x, nil
}

func (c *Company) paused(m *pausing) *actors.Status {
	if m.On != nil {
		c.edge.Pause(*m.On)
		c.Changed(actors.WorkerInfo{}) // the others are told soon
	}
	s := c.edge.Status()
	return &s
}

// Looking is how many look through each link of an account at other nodes.
func (c *Company) Looking(ctx context.Context, account string) map[string]int {
	all := map[string]int{}
	for _, x := range askAll[lookers](ctx, c, &looking{account}) {
		for id, n := range x.By {
			all[id] += n
		}
	}
	return all
}
