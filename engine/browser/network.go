package browser

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/network"
)

// IdleWindow is how long no request may be under way for a page to count as
// idle.
const IdleWindow = 500 * time.Millisecond

// maxBody bounds what the browser keeps of responses for us to read.
const maxBody = 16 << 20

// maxActive bounds the requests of a context that are remembered while they are under
// way. A page with more of them is not idle, whatever becomes of the others.
const maxActive = 2000

var (
	networkLimits   = map[string]any{"maxResourceBufferSize": maxBody, "maxTotalBufferSize": 2 * maxBody}
	recordingLimits = map[string]any{"maxResourceBufferSize": maxBody, "maxTotalBufferSize": 2 * maxBody, "maxPostDataSize": maxSent}
)

// Network observes the requests of a context's tabs, while a task needs that.
type Network struct {
	context   *Context
	responses *responses  // nil: nobody looks; belongs to the context's lock
	recording atomic.Bool // what is sent is wanted, too
}

// enableNetwork makes the browser report a tab's requests, and keep the bodies
// of their answers where neither a page that leaves nor one that does not read
// them is in the way.
func (t *Tab) enableNetwork(bodies bool) {
	t.remote.watch()
	t.everyProcess(t.enableNetworkOn)
	if bodies {
		t.bodies.open()
	}
}

func (t *Tab) enableNetworkOn(s *session) {
	limits := networkLimits
	if t.context.Network.recording.Load() {
		limits = recordingLimits
	}
	s.send(network.CommandEnable, limits)
	s.send(network.CommandConfigureDurableMessages, networkLimits)
}

// Watch begins to count requests and to see answers, in the tabs that
// are open and those that come. It is a cost for each request of a page, so
// only tasks that need it ask for it.
func (nw *Network) Watch() { nw.watch(nil) }

func (nw *Network) watch(a *Archive) {
	nw.context.mu.Lock()
	defer nw.context.mu.Unlock()
	if nw.responses != nil {
		return
	}
	nw.responses = &responses{active: map[requestKey]request{}, quiet: time.Now(), changed: make(chan struct{}), over: make(chan struct{}), archive: a, bodies: a != nil && a.bodies}
	for _, t := range nw.context.tabs {
		t.enableNetwork(false)
	}
}

// Unwatch ends it.
func (nw *Network) Unwatch() {
	nw.context.mu.Lock()
	defer nw.context.mu.Unlock()
	if nw.responses == nil {
		return
	}
	close(nw.responses.over)
	nw.responses = nil
	nw.recording.Store(false)
	for _, t := range nw.context.tabs {
		t.everyProcess(func(s *session) { s.send(network.CommandDisable, nil) })
		t.bodies.close()
		if l := nw.context.log; l != nil {
			t.startLog(l, false)
		}
	}
}

func (nw *Network) current() *responses {
	nw.context.mu.Lock()
	defer nw.context.mu.Unlock()
	return nw.responses
}

// WaitIdle returns when no request was under way for IdleWindow.
func (nw *Network) WaitIdle(ctx context.Context) error {
	r := nw.current()
	if r == nil {
		return fmt.Errorf("waiting for the network: it is not watched")
	}
	for {
		r.mu.Lock()
		n, quiet, changed := r.busy, time.Since(r.quiet), r.changed
		r.mu.Unlock()
		if n == 0 && quiet >= IdleWindow {
			return nil
		}
		var timer <-chan time.Time
		if n == 0 {
			timer = time.After(IdleWindow - quiet)
		}
		select {
		case <-changed:
		case <-timer:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// IdleFor is how long no request has been under way.
func (nw *Network) IdleFor() time.Duration {
	r := nw.current()
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy > 0 {
		return 0
	}
	return time.Since(r.quiet)
}

// Active lists addresses of requests that are under way.
func (nw *Network) Active() []string {
	r := nw.current()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var urls []string
	for _, q := range r.active {
		if q.counts() {
			urls = append(urls, q.url)
		}
	}
	return urls
}
