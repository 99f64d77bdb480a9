package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/cluster/link"
)

// mergedView hears of an account on all nodes. Where a node comes or goes it is over:
// its reader begins anew, with the whole picture.
type mergedView struct {
	seq     uint64
	workers []api.WorkerInfo
	tasks   []view.TaskNews

	stop context.CancelFunc
	wake chan struct{}
	mu   sync.Mutex
	news []view.News
	over bool
}

// readMost is how many pieces of news a reader may be behind.
const readMost = 1000

// mergedViews are those that go on.
type mergedViews struct {
	mu  sync.Mutex
	now map[*mergedView]struct{}
}

func (r *mergedViews) add(one *mergedView) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		r.now = map[*mergedView]struct{}{}
	}
	r.now[one] = struct{}{}
}

func (r *mergedViews) remove(one *mergedView) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, one)
}

// renew lets all readers begin anew.
func (r *mergedViews) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.now {
		one.end()
	}
}

// Read lets somebody hear of an account's tasks and workers on all nodes: see
// [actors.Node.Read].
func (c *Router) Read(account string, all bool, tasks int) view.Reading {
	ctx, cancel := context.WithCancel(context.Background())
	r := &mergedView{wake: make(chan struct{}, 1)}
	r.stop = func() { cancel(); c.views.remove(r) }
	c.views.add(r) // from now on no node comes or goes unnoticed

	known := c.peers.known()
	parts := make([]*link.ViewOpened, len(known))
	var asked sync.WaitGroup
	for i, p := range known {
		if !p.up {
			continue
		}
		asked.Go(func() {
			ctx, cancel := within(ctx, p.alive, wordMost)
			defer cancel(nil)
			x, err := link.AskFor[link.ViewOpened](ctx, c.transport, p.name, &link.OpenView{Account: account, All: all, Tasks: tasks})
			if err != nil {
				c.cfg.Log.Debug().Err(err).Str("node", p.name).Msg("the news of another node cannot be heard")
				return
			}
			parts[i] = x
		})
	}
	local := c.local.Read(account, all, tasks)
	_, workers, last := local.Begin()
	asked.Wait()

	lists := [][]view.TaskNews{last}
	told := false
	for i, p := range known {
		if !told && p.name > c.cfg.Node {
			r.workers, told = append(r.workers, workers...), true
		}
		if parts[i] == nil {
			r.workers = append(r.workers, p.absent(account, all)...)
			continue
		}
		r.workers = append(r.workers, parts[i].Workers...)
		lists = append(lists, parts[i].Tasks)
	}
	if !told {
		r.workers = append(r.workers, workers...)
	}
	r.tasks = lastOf(lists, tasks)

	go func() {
		defer local.Close()
		for ctx.Err() == nil {
			n, err := local.Next(ctx)
			behind := errors.Is(err, view.ErrBehind)
			if r.take(n, behind); behind {
				return
			}
		}
	}()
	for i, p := range known {
		if parts[i] != nil {
			go c.followView(ctx, r, p, parts[i].ID)
		}
	}
	return r
}

// followView takes the news of another node.
func (c *Router) followView(ctx context.Context, r *mergedView, p peer, id string) {
	defer c.transport.Tell(p.name, &link.CloseView{ID: id})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.alive, func() { cancel(errDown) })()
	for ctx.Err() == nil {
		x, err := c.remote.askNext(ctx, p.name, id)
		n, ok := x.(*link.ViewNews)
		if err != nil || !ok {
			r.end()
			return
		}
		if r.take(n.News, n.Behind); n.Behind {
			return
		}
	}
}

// absent are the workers of a node that does not answer, as an account may see
// them.
func (p *peer) absent(account string, all bool) []api.WorkerInfo {
	workers := slices.Clone(p.inventory.Workers)
	if !all {
		workers = api.VisibleTo(account, workers)
	}
	for i := range workers {
		workers[i].State, workers[i].Since, workers[i].TaskID = api.Offline, p.since, ""
	}
	return workers
}

func (r *mergedView) take(n []view.News, behind bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if behind || len(r.news)+len(n) > readMost {
		r.over, r.news = true, nil
	}
	if !r.over {
		for i := range n {
			r.seq++
			n[i].Seq = r.seq
		}
		r.news = append(r.news, n...)
	}
	r.rouse()
}

// end lets the reader begin anew.
func (r *mergedView) end() { r.take(nil, true) }

func (r *mergedView) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Begin implements [view.Reading].
func (r *mergedView) Begin() (uint64, []api.WorkerInfo, []view.TaskNews) {
	workers, tasks := r.workers, r.tasks
	r.workers, r.tasks = nil, nil
	return 0, workers, tasks
}

// Next implements [view.Reading].
func (r *mergedView) Next(ctx context.Context) ([]view.News, error) {
	for {
		r.mu.Lock()
		n, over := r.news, r.over
		r.news = nil
		r.mu.Unlock()
		switch {
		case over:
			return nil, view.ErrBehind
		case len(n) > 0:
			return n, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close implements [view.Reading].
func (r *mergedView) Close() { r.stop() }

// Recent returns the last tasks of an account on all nodes that are up: see
// [actors.Node.Recent].
func (c *Router) Recent(account string, all bool, most int) []view.TaskNews {
	lists := [][]view.TaskNews{c.local.Recent(account, all, most)}
	for _, x := range askAll[link.RecentTasksReply](context.Background(), &c.remote, &link.RecentTasks{Account: account, All: all, Most: most}) {
		lists = append(lists, x.Tasks)
	}
	return lastOf(lists, most)
}

// RecentTask returns one of them.
func (c *Router) RecentTask(account string, all bool, id string) (view.TaskNews, bool) {
	if t, ok := c.local.RecentTask(account, all, id); ok {
		return t, true
	}
	_, x := findAt(context.Background(), &c.remote, wordMost, &link.RecentTasks{Account: account, All: all, ID: id}, func(x *link.RecentTasksReply) bool { return len(x.Tasks) == 1 })
	if x == nil {
		return view.TaskNews{}, false
	}
	return x.Tasks[0], true
}

// lastOf are the last tasks of some lists, the newest first: all that run, and up
// to as many in all as were asked for.
func lastOf(lists [][]view.TaskNews, most int) []view.TaskNews {
	all := slices.Concat(lists...)
	newest := func(a, b view.TaskNews) int { return b.Began.Compare(a.Began) }
	slices.SortStableFunc(all, newest)
	running := 0
	for _, t := range all {
		if t.Outcome == nil {
			running++
		}
	}
	left := max(most-running, 0)
	return slices.DeleteFunc(all, func(t view.TaskNews) bool {
		if t.Outcome == nil {
			return false
		}
		left--
		return left < 0
	})
}
