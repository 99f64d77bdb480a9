package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/cluster/link"
	"troupe/engine"
)

// A node asks for a view of another node piece by piece. So a slow connection delays
// only itself, and a view for which nobody asks any more is soon closed.
const (
	// viewWait is how long a request for the next piece waits for one.
	viewWait = 10 * time.Second
	// viewIdle is how long a view stays open without a request for its next piece.
	viewIdle = 30 * time.Second
	// maxViews bounds the views that are open on a node at the same time.
	maxViews = 2000
)

var errNoView = errors.New("this view is closed")

// servedViews are the views that clients of other nodes have of this node.
type servedViews struct {
	mu  sync.Mutex
	now map[string]*servedView
}

type servedView struct {
	more  func(ctx context.Context) any
	close func()
	idle  *time.Timer // nil: it stays until it is closed
	most  time.Duration
}

// open opens a view and returns its ID, or "" if too many are open.
func (l *servedViews) open(more func(context.Context) any, end func()) (id string) {
	return l.openFor(viewIdle, more, end)
}

// openFor is open for a view that is closed when nobody has asked for so long; zero: it stays.
func (l *servedViews) openFor(idle time.Duration, more func(context.Context) any, end func()) (id string) {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	id = hex.EncodeToString(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.now) >= maxViews {
		return ""
	}
	if l.now == nil {
		l.now = map[string]*servedView{}
	}
	one := &servedView{more: more, close: end, most: idle}
	if idle > 0 {
		one.idle = time.AfterFunc(idle, func() { l.end(id) })
	}
	l.now[id] = one
	return id
}

func (l *servedViews) end(id string) {
	l.mu.Lock()
	one := l.now[id]
	delete(l.now, id)
	l.mu.Unlock()
	if one != nil {
		if one.idle != nil {
			one.idle.Stop()
		}
		one.close()
	}
}

func (l *servedViews) close() {
	l.mu.Lock()
	ids := make([]string, 0, len(l.now))
	for id := range l.now {
		ids = append(ids, id)
	}
	l.mu.Unlock()
	for _, id := range ids {
		l.end(id)
	}
}

// next returns the next piece of a view.
func (l *servedViews) next(ctx context.Context, id string) (any, error) {
	l.mu.Lock()
	one := l.now[id]
	if one != nil && one.idle != nil {
		one.idle.Reset(one.most)
	}
	l.mu.Unlock()
	if one == nil {
		return nil, errNoView
	}
	ctx, cancel := context.WithTimeout(ctx, viewWait)
	defer cancel()
	return one.more(ctx), nil
}

// serveScreencast shows a browser of this node to a client of another node.
func (l *servedViews) serveScreencast(local Local, m *view.ScreencastRequest) *link.ViewOpened {
	w, no := local.OpenScreencast(m)
	if no != nil {
		return &link.ViewOpened{Refusal: no}
	}
	id := l.open(func(ctx context.Context) any {
		select { // what ends it comes before what it shows
		case <-w.Done():
			return &link.ViewFrame{EndReason: w.EndReason()}
		default:
		}
		select {
		case <-w.Done():
			return &link.ViewFrame{EndReason: w.EndReason()}
		case p := <-w.Pictures():
			return &link.ViewFrame{Picture: p}
		case <-ctx.Done():
			return &link.ViewFrame{}
		}
	}, w.Close)
	if id == "" {
		w.Close()
		return &link.ViewOpened{Refusal: tooManyViews}
	}
	return &link.ViewOpened{ID: id, Object: view.ViewedObject{Worker: w.Worker, WorkerName: w.WorkerName, Task: w.Task, Session: w.Session}}
}

var tooManyViews = &api.Refusal{Code: engine.CodeRateLimited, Text: "Too many live views of this node are open: close some"}

// serveView shows the events of an account on this node to a client of another node.
func (l *servedViews) serveView(local Local, m *link.OpenView) (*link.ViewOpened, error) {
	r := local.Subscribe(m.Account, m.All, m.Tasks)
	_, workers, tasks := r.Snapshot()
	id := l.open(func(ctx context.Context) any {
		n, err := r.Next(ctx)
		return &link.ViewEvents{Events: n, Behind: errors.Is(err, view.ErrBehind)}
	}, r.Close)
	if id == "" {
		r.Close()
		return nil, link.ErrBusy
	}
	return &link.ViewOpened{ID: id, Workers: workers, Tasks: tasks}, nil
}

// OpenScreencast shows a browser, whichever node has it: see
// [actors.Node.OpenScreencast].
func (c *Router) OpenScreencast(m *view.ScreencastRequest) (*view.Viewer, *api.Refusal) {
	w, no := c.local.OpenScreencast(m)
	if no == nil || no.Code != engine.CodeNotFound {
		return w, no
	}
	node, x := findAt(context.Background(), &c.remote, replyTimeout, m, func(x *link.ViewOpened) bool { return x.Refusal == nil || x.Refusal.Code != engine.CodeNotFound })
	switch {
	case x == nil:
		return nil, no
	case x.Refusal != nil:
		return nil, x.Refusal
	}
	alive, up := c.peers.aliveContext(node)
	if !up {
		return nil, no
	}
	ctx, cancel := context.WithCancelCause(alive)
	left := func() {
		cancel(nil)
		c.transport.Tell(node, &link.CloseView{ID: x.ID})
	}
	w = view.NewViewer(x.Object, sync.OnceFunc(left))
	go func() {
		defer cancel(nil)
		for ctx.Err() == nil {
			s, err := c.remote.askNext(ctx, node, x.ID)
			p, ok := s.(*link.ViewFrame)
			switch {
			case err != nil || !ok:
				w.End(view.BrowserGone)
				return
			case p.EndReason != "":
				w.End(p.EndReason)
				return
			case p.Picture != nil:
				w.Show(p.Picture)
			}
		}
		w.End(view.BrowserGone)
	}()
	return w, nil
}

// serveRecent returns the last tasks of this node.
func serveRecent(local Local, m *link.RecentTasks) *link.RecentTasksReply {
	if m.ID == "" {
		return &link.RecentTasksReply{Tasks: local.Recent(m.Account, m.All, m.Most)}
	}
	if t, ok := local.RecentTask(m.Account, m.All, m.ID); ok {
		return &link.RecentTasksReply{Tasks: []view.TaskProgress{t}}
	}
	return &link.RecentTasksReply{}
}
