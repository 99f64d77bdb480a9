package cluster

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// maxNotices bounds what is kept for a node that is down.
const maxNotices = 1000

// inflightRequest is a request of one of this node's clients, whichever node runs it.
type inflightRequest struct {
	account string
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	cause   api.Cause // it was cancelled by somebody else than its client
	startID uint64    // of what was sent to another node; zero: it was taken back
	started bool      // where it was sent, or nobody can say that it has not
}

// inflightRequests are those that go on.
type inflightRequests struct {
	mu      sync.Mutex
	now     map[string]*inflightRequest // by task
	notices map[string][]any            // by node

	startIDs, tries atomic.Uint64
}

func (t *inflightRequests) begin(id string, one *inflightRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[string]*inflightRequest{}
	}
	t.now[id] = one
}

func (t *inflightRequests) end(id string, one *inflightRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now[id] == one {
		delete(t.now, id)
	}
}

// cancelled cancels a request of an account, and reports whether there is one.
func (t *inflightRequests) cancelled(m *api.Cancel) bool {
	t.mu.Lock()
	one := t.now[m.TaskID]
	t.mu.Unlock()
	if one == nil || one.account != m.Account.ID {
		return false
	}
	one.stop(m.Cause)
	return true
}

// interrupt cancels a request because the node stops.
func (t *inflightRequests) interrupt(id string) {
	t.mu.Lock()
	one := t.now[id]
	t.mu.Unlock()
	if one != nil {
		one.stop(api.CauseDrain)
	}
}

func (t *inflightRequest) stop(cause api.Cause) {
	t.mu.Lock()
	t.cause = cause
	t.mu.Unlock()
	t.cancel(cause.Err())
}

// ids are the tasks that are on their way.
func (t *inflightRequests) ids() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.now {
		all = append(all, id)
	}
	return all
}

// Finish waits until no client of this node waits for another one, and interrupts
// what still runs elsewhere when the grace or ctx is over.
func (c *Router) Finish(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if c.inflight.waitEmpty(ctx) {
		return
	}
	for _, id := range c.inflight.ids() {
		c.inflight.interrupt(id)
	}
	last, enough := context.WithTimeout(context.Background(), cancelTimeout)
	defer enough()
	c.inflight.waitEmpty(last)
}

// waitEmpty waits until no request is left, and reports whether that was before ctx ended.
func (t *inflightRequests) waitEmpty(ctx context.Context) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(t.ids()) > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// addNotice keeps a message for a node that is down, until it is back: that nobody
// waits for a task, or that an account was removed.
func (t *inflightRequests) addNotice(node string, m any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.notices == nil {
		t.notices = map[string][]any{}
	}
	known := slices.ContainsFunc(t.notices[node], func(x any) bool { return reflect.DeepEqual(x, m) })
	if !known && len(t.notices[node]) < maxNotices {
		t.notices[node] = append(t.notices[node], m)
	}
}

func (t *inflightRequests) takeNotices(node string) []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.notices[node]
	delete(t.notices, node)
	return all
}

func (t *inflightRequest) why() api.Cause {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cause
}

// unstartedRefusal is the answer to a task that was ended between two nodes, or while it
// waited.
func (t *inflightRequest) unstartedRefusal() *api.Refusal {
	if t.why() == api.CauseDrain {
		return drainingRefusal
	}
	return &api.Refusal{Code: engine.CodeCancelled, Text: "The task was cancelled before it began"}
}
