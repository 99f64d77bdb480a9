package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
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

var networkLimits = map[string]any{"maxResourceBufferSize": maxBody, "maxTotalBufferSize": 2 * maxBody}

// Network observes the requests of a context's tabs, while a task needs that.
type Network struct {
	context   *Context
	responses *responses // nil: nobody looks; belongs to the context's lock
}

// enableNetwork makes the browser tell of a tab's requests, and keep the bodies
// of their answers where neither a page that leaves nor one that does not read
// them is in the way.
func (t *Tab) enableNetwork(bodies bool) {
	t.s.send(network.CommandEnable, networkLimits)
	t.s.send(network.CommandConfigureDurableMessages, networkLimits)
	if bodies {
		t.bodies.open()
	}
}

// responses counts the requests of a context's tabs and shows their answers to
// those who wait for them.
type responses struct {
	mu      sync.Mutex
	active  map[requestKey]request // see put and drop
	busy    int                    // of them, those that count
	quiet   time.Time              // since when nothing is under way
	changed chan struct{}          // closed, and made anew, at each change
	over    chan struct{}          // closed when nobody watches any more
	wanted  []*Wanted
	asked   int  // how many answers were wanted so far
	bodies  bool // somebody has wanted one
	held    int  // bytes of bodies that have come, or are on their way to us
}

type requestKey struct {
	tab *Tab
	id  network.RequestID
}

type request struct {
	url, method string
	kind        network.ResourceType
	main        bool // the tab's own document
	stream      bool // does not end by itself: not counted
	unread      bool // ends when the page has read its body, which it may never do
	worker      bool // a service worker of the page has answered
	wanted      []*Wanted
	status      int64
	size        int // bytes of the body so far, where somebody waits for it
}

// counts reports whether a page with the request under way is not idle.
func (q request) counts() bool { return !q.stream && !q.unread }

// Watch begins to count requests and to see answers, in the tabs that
// are open and those that come. It is a cost for each request of a page, so
// only tasks that need it ask for it.
func (nw *Network) Watch() {
	nw.context.mu.Lock()
	defer nw.context.mu.Unlock()
	if nw.responses != nil {
		return
	}
	nw.responses = &responses{active: map[requestKey]request{}, quiet: time.Now(), changed: make(chan struct{}), over: make(chan struct{})}
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
	for _, t := range nw.context.tabs {
		t.s.send(network.CommandDisable, nil)
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

// put and drop change what is under way. Each request of a page comes by here, so
// that none of it may take longer the more of them there are.
func (r *responses) put(k requestKey, q request) {
	r.drop(k)
	r.active[k] = q
	if q.counts() {
		r.busy++
	}
}

func (r *responses) drop(k requestKey) {
	if q, ok := r.active[k]; ok && q.counts() {
		r.busy--
	}
	delete(r.active, k)
}

func (r *responses) wantsBodies() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies
}

func (r *responses) touch() {
	if r.busy == 0 {
		r.quiet = time.Now()
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// event hears of a tab's requests, on the reader's goroutine.
func (r *responses) event(t *Tab, method string, params jsonv2.Value) {
	switch method {
	case "Network.requestWillBeSent":
		var e network.EventRequestWillBeSent
		if decode(params, &e) {
			r.begins(t, &e)
		}
	case "Network.responseReceived":
		var e network.EventResponseReceived
		if decode(params, &e) {
			r.answered(t, &e)
		}
	case "Network.dataReceived":
		var e network.EventDataReceived
		if decode(params, &e) {
			r.goesOn(t, e.RequestID, int(e.DataLength))
		}
	case "Network.loadingFinished":
		var e network.EventLoadingFinished
		if decode(params, &e) {
			r.ends(t, e.RequestID, "")
		}
	case "Network.loadingFailed":
		var e network.EventLoadingFailed
		if decode(params, &e) {
			r.ends(t, e.RequestID, e.ErrorText)
		}
	}
}

func (r *responses) begins(t *Tab, e *network.EventRequestWillBeSent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := request{url: e.Request.URL, method: e.Request.Method, kind: e.Type}
	q.main = e.Type == network.ResourceTypeDocument && e.FrameID == t.mainFrame()
	q.stream = e.Type == network.ResourceTypeEventSource || e.Type == network.ResourceTypePing
	if q.main {
		// A new document ends what the old one still waited for.
		for k, old := range r.active {
			if k.tab == t && k.id != e.RequestID {
				if !old.unread {
					r.take(k, old, fmt.Errorf("the page was left before the answer came"))
				}
				r.drop(k)
			}
		}
	}
	old := r.active[requestKey{t, e.RequestID}] // there is one where it is redirected
	if e.Type == network.ResourceTypeFetch || e.Type == network.ResourceTypeXHR {
		rest := r.wanted[:0]
		for _, w := range r.wanted {
			if !q.serves(w) && !old.serves(w) && w.Match(q.url, q.method) {
				q.wanted = append(q.wanted, w)
			} else {
				rest = append(rest, w)
			}
		}
		r.wanted = rest
	}
	q.wanted = append(q.wanted, old.wanted...)
	k := requestKey{t, e.RequestID}
	if len(q.wanted) == 0 {
		// The browser does not tell the end of every request: beacons and scripts of
		// workers that were ended may have none.
		if _, known := r.active[k]; q.stream || !known && len(r.active) >= maxActive {
			r.drop(k)
			return
		}
	}
	q.url = t.context.clean(q.url).Short(maxAddress).String()
	r.put(k, q)
	r.touch()
}

// serves reports whether the request's answer goes to an equal of w already.
func (q request) serves(w *Wanted) bool {
	return w.Key != "" && slices.ContainsFunc(q.wanted, func(o *Wanted) bool { return o.Key == w.Key })
}

// inTurn lets the first of equal ones have the answer that comes first, although
// it was promised that to an earlier request.
func (r *responses) inTurn(k requestKey, q request) {
	for i, w := range q.wanted {
		if w.Key == "" {
			continue
		}
		var from []*Wanted
		at := i
		for other, p := range r.active {
			if other == k || p.status != 0 {
				continue
			}
			for j, o := range p.wanted {
				if o.Key == w.Key && o.n < q.wanted[i].n && (from == nil || o.n < from[at].n) {
					from, at = p.wanted, j
				}
			}
		}
		if from != nil {
			q.wanted[i], from[at] = from[at], w
		}
	}
}

func (r *responses) answered(t *Tab, e *network.EventResponseReceived) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := requestKey{t, e.RequestID}
	q, ok := r.active[k]
	if !ok {
		return
	}
	r.inTurn(k, q)
	q.status = e.Response.Status
	q.worker = e.Response.FromServiceWorker
	for _, w := range q.wanted {
		w.status.Store(q.status)
	}
	if e.Response.MimeType == "text/event-stream" {
		q.stream = true // it never ends; a page with one can still be idle
	}
	// The browser reads such a body only as far as the page does, and many pages
	// look no further than the status.
	if q.kind == network.ResourceTypeFetch && !q.stream && noStore(e.Response.Headers) {
		q.unread = true
		if len(q.wanted) > 0 {
			go r.takeUnread(k, q)
		}
	}
	if q.stream && len(q.wanted) == 0 {
		r.drop(k)
	} else {
		r.put(k, q)
	}
	r.touch()
}

func noStore(h network.Headers) bool {
	for name, v := range h {
		if s, ok := v.(string); ok && strings.EqualFold(name, "Cache-Control") && strings.Contains(strings.ToLower(s), "no-store") {
			return true
		}
	}
	return false
}

// goesOn hears that more of an answer has come: a page is not idle then.
func (r *responses) goesOn(t *Tab, id network.RequestID, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := requestKey{t, id}
	q, ok := r.active[k]
	if ok && len(q.wanted) > 0 {
		q.size += bytes
		r.put(k, q)
	}
	if ok && q.unread {
		r.touch()
	}
}

// ends hears that a request has ended. A failure is the browser's name for it.
func (r *responses) ends(t *Tab, id network.RequestID, failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := requestKey{t, id}
	q, ok := r.active[k]
	if !ok {
		return
	}
	r.drop(k)
	r.touch()
	if failure == "" {
		r.take(k, q, nil)
		return
	}
	name, text := t.context.explained(q.url, failure)
	err := fmt.Errorf("the request failed: %s", name)
	if text != "" {
		err = fmt.Errorf("the request failed: %s: %s", name, text)
	}
	switch {
	case failure != aborted && !noContent(q.status):
		q.end(nil, err) // what has arrived is not the answer
	case !q.unread: // what has begun to arrive does arrive
		r.take(k, q, err)
	}
}
