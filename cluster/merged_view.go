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

// mergedView follows an account on all nodes. It ends when a node comes or goes:
// its reader opens a new one, which begins with all there is.
type mergedView struct {
	seq     uint64
	workers []api.WorkerInfo
	tasks   []view.TaskProgress

	stop   context.CancelFunc
	wake   chan struct{}
	mu     sync.Mutex
	events []view.Event
	ended  bool
}

// maxViewBacklog is how many events a reader may be behind.
const maxViewBacklog = 1000

// mergedViews are the open ones.
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

// endAll ends all views, so that their readers open new ones.
func (r *mergedViews) endAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.now {
		one.end()
	}
}

// Subscribe follows an account's tasks and workers on all nodes: see
// [actors.Node.Subscribe].
func (c *Router) Subscribe(account string, all bool, tasks int) view.Subscription {
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
			ctx, cancel := within(ctx, p.alive, replyTimeout)
			defer cancel(nil)
			x, err := link.AskFor[link.ViewOpened](ctx, c.transport, p.name, &link.OpenView{Account: account, All: all, Tasks: tasks})
			if err != nil {
				c.cfg.Log.Debug().Err(err).Str("node", p.name).Msg("the events of another node cannot be read")
				return
			}
			parts[i] = x
		})
	}
	local := c.local.Subscribe(account, all, tasks)
	_, workers, last := local.Snapshot()
	asked.Wait()

	lists := [][]view.TaskProgress{last}
	listed := false
	for i, p := range known {
		if !listed && p.name > c.cfg.Node {
			r.workers, listed = append(r.workers, workers...), true
		}
		if parts[i] == nil {
			r.workers = append(r.workers, p.absent(account, all)...)
			continue
		}
		r.workers = append(r.workers, parts[i].Workers...)
		lists = append(lists, parts[i].Tasks)
	}
	if !listed {
		r.workers = append(r.workers, workers...)
	}
	r.tasks = newestOf(lists, tasks)

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

// followView takes the events of another node.
func (c *Router) followView(ctx context.Context, r *mergedView, p peer, id string) {
	defer c.transport.Tell(p.name, &link.CloseView{ID: id})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.alive, func() { cancel(errDown) })()
	for ctx.Err() == nil {
		x, err := c.remote.askNext(ctx, p.name, id)
		n, ok := x.(*link.ViewEvents)
		if err != nil || !ok {
			r.end()
			return
		}
		if r.take(n.Events, n.Behind); n.Behind {
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

func (r *mergedView) take(n []view.Event, behind bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if behind || len(r.events)+len(n) > maxViewBacklog {
		r.ended, r.events = true, nil
	}
	if !r.ended {
		for i := range n {
			r.seq++
			n[i].Seq = r.seq
		}
		r.events = append(r.events, n...)
	}
	r.notify()
}

// end ends the view, so that its reader opens a new one.
func (r *mergedView) end() { r.take(nil, true) }

func (r *mergedView) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Snapshot implements [view.Subscription].
func (r *mergedView) Snapshot() (uint64, []api.WorkerInfo, []view.TaskProgress) {
	workers, tasks := r.workers, r.tasks
	r.workers, r.tasks = nil, nil
	return 0, workers, tasks
}

// Next implements [view.Subscription].
func (r *mergedView) Next(ctx context.Context) ([]view.Event, error) {
	for {
		r.mu.Lock()
		n, ended := r.events, r.ended
		r.events = nil
		r.mu.Unlock()
		switch {
		case ended:
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

// Close implements [view.Subscription].
func (r *mergedView) Close() { r.stop() }

// Recent returns the last tasks of an account on all nodes that are up: see
// [actors.Node.Recent].
func (c *Router) Recent(account string, all bool, most int) []view.TaskProgress {
	lists := [][]view.TaskProgress{c.local.Recent(account, all, most)}
	for _, x := range askAll[link.RecentTasksReply](context.Background(), &c.remote, &link.RecentTasks{Account: account, All: all, Most: most}) {
		lists = append(lists, x.Tasks)
	}
	return newestOf(lists, most)
}

// RecentTask returns one of them.
func (c *Router) RecentTask(account string, all bool, id string) (view.TaskProgress, bool) {
	if t, ok := c.local.RecentTask(account, all, id); ok {
		return t, true
	}
	_, x := findAt(context.Background(), &c.remote, replyTimeout, &link.RecentTasks{Account: account, All: all, ID: id}, func(x *link.RecentTasksReply) bool { return len(x.Tasks) == 1 })
	if x == nil {
		return view.TaskProgress{}, false
	}
	return x.Tasks[0], true
}

// newestOf are the last tasks of some lists, the newest first: all that run, and up
// to as many in all as were asked for.
func newestOf(lists [][]view.TaskProgress, most int) []view.TaskProgress {
	all := slices.Concat(lists...)
	newest := func(a, b view.TaskProgress) int { return b.Began.Compare(a.Began) }
	slices.SortStableFunc(all, newest)
	running := 0
	for _, t := range all {
		if t.Outcome == nil {
			running++
		}
	}
	left := max(most-running, 0)
	return slices.DeleteFunc(all, func(t view.TaskProgress) bool {
		if t.Outcome == nil {
			return false
		}
		left--
		return left < 0
	})
}
