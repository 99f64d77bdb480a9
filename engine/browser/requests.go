package browser

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
)

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
	archive *Archive // nil: nobody records
	asked   int      // how many answers were wanted so far
	bodies  bool     // somebody has wanted one
	held    int      // bytes of bodies that have come, or are on their way to us
}

type requestKey struct {
	tab *Tab
	id  network.RequestID
}

type request struct {
	url, method string
	kind        network.ResourceType
	from        *session    // with the process that has reported it last
	frame       cdp.FrameID // of a document: the one that is to show it
	main        bool        // the tab's own document
	stream      bool        // does not end by itself: not counted
	unread      bool        // ends when the page has read its body, which it may never do
	worker      bool        // a service worker of the page has answered
	wanted      []*Wanted
	status      int64
	size        int // bytes of the body so far, where somebody waits for it
}

// counts reports whether a page with the request under way is not idle.
func (q request) counts() bool { return !q.stream && !q.unread }

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

// event handles a tab's requests, on the reader's goroutine.
func (r *responses) event(t *Tab, s *session, method string, params jsonv2.Value) {
	if r.archive != nil {
		r.archive.event(t, s, method, params)
	}
	switch method {
	case "Network.requestWillBeSent":
		var e network.EventRequestWillBeSent
		if decode(params, &e) {
			r.begins(t, s, &e)
		}
	case "Network.responseReceived":
		var e network.EventResponseReceived
		if decode(params, &e) {
			r.answered(t, s, &e)
		}
	case "Network.dataReceived":
		var e network.EventDataReceived
		if decode(params, &e) {
			r.goesOn(t, e.RequestID, int(e.DataLength))
		}
	case "Network.loadingFinished":
		var e network.EventLoadingFinished
		if decode(params, &e) {
			r.ends(t, s, e.RequestID, "")
		}
	case "Network.loadingFailed":
		var e network.EventLoadingFailed
		if decode(params, &e) {
			r.ends(t, s, e.RequestID, e.ErrorText)
		}
	}
}

func (r *responses) begins(t *Tab, s *session, e *network.EventRequestWillBeSent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := request{url: e.Request.URL, method: e.Request.Method, kind: e.Type, from: s}
	if e.Type == network.ResourceTypeDocument {
		q.frame = e.FrameID
	}
	q.main = e.Type == network.ResourceTypeDocument && e.FrameID == t.mainFrame()
	q.stream = e.Type == network.ResourceTypeEventSource || e.Type == network.ResourceTypePing ||
		ofWorker(e)
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
	// What frames of other sites ask for is not the task's to wait for.
	if (e.Type == network.ResourceTypeFetch || e.Type == network.ResourceTypeXHR) && t.context.Sites.AllowFrame(e.DocumentURL) {
		rest := r.wanted[:0]
		other := "" // the key of what the request is not: its equals are not compared again
		for _, w := range r.wanted {
			switch {
			case other != "" && w.Key == other, q.serves(w), old.serves(w):
				rest = append(rest, w)
			case w.Match(q.url, q.method):
				w.begun.Store(true)
				q.wanted = append(q.wanted, w)
			default:
				other, rest = w.Key, append(rest, w)
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

// ofWorker reports whether a worker's own script is asked for. The browser tells its end
// to nobody but the worker. It has no document, but is one itself.
func ofWorker(e *network.EventRequestWillBeSent) bool {
	return e.Type == network.ResourceTypeScript && e.LoaderID == "" && e.DocumentURL == e.Request.URL
}

// handOver takes in that a frame gets a process of its own, which the rest of its
// document goes to.
func (r *responses) handOver(frame cdp.FrameID, to *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, q := range r.active {
		if q.frame == frame {
			q.from = to
			r.active[k] = q
		}
	}
}

// leave ends what a process was asked for that a frame of the tab has left: nothing is
// told of it any more.
func (r *responses) leave(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, q := range r.active {
		if q.from == s {
			r.drop(k)
			if !q.unread {
				r.take(k, q, fmt.Errorf("the frame was left before the answer came"))
			}
		}
	}
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

func (r *responses) answered(t *Tab, s *session, e *network.EventResponseReceived) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := requestKey{t, e.RequestID}
	q, ok := r.active[k]
	if !ok {
		return
	}
	r.inTurn(k, q)
	q.status, q.from = e.Response.Status, s
	q.worker = e.Response.FromServiceWorker
	for _, w := range q.wanted {
		w.status.Store(q.status)
		w.answer.Store(&answerHead{q.url, e.Response.MimeType})
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
func (r *responses) ends(t *Tab, s *session, id network.RequestID, failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := requestKey{t, id}
	q, ok := r.active[k]
	if !ok {
		return
	}
	r.drop(k)
	r.touch()
	q.from = s
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
