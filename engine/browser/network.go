package browser

import (
	"context"
	"encoding/base64"
	"fmt"
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

var networkLimits = map[string]any{"maxResourceBufferSize": maxBody, "maxTotalBufferSize": 2 * maxBody}

// responses counts the requests of a context's tabs and shows their answers to
// those who wait for them.
type responses struct {
	mu      sync.Mutex
	active  map[requestKey]request
	quiet   time.Time     // since when nothing is under way
	changed chan struct{} // closed, and made anew, at each change
	wanted  []*Wanted
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
	wanted      []*Wanted
	status      int64
}

// Wanted is an answer that somebody waits for.
type Wanted struct {
	// Match says whether a request is the one; set before Want.
	Match func(url, method string) bool

	tab  *Tab
	once sync.Once
	done chan struct{}
	body []byte
	err  error
}

// WatchNetwork begins to count requests and to see answers, in the tabs that
// are open and those that come. It is a cost for each request of a page, so
// only tasks that need it ask for it.
func (c *Context) WatchNetwork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch != nil {
		return
	}
	c.watch = &responses{active: map[requestKey]request{}, quiet: time.Now(), changed: make(chan struct{})}
	for _, t := range c.tabs {
		t.s.send(network.CommandEnable, networkLimits)
	}
}

// UnwatchNetwork ends it.
func (c *Context) UnwatchNetwork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch == nil {
		return
	}
	c.watch = nil
	for _, t := range c.tabs {
		t.s.send(network.CommandDisable, nil)
	}
}

func (c *Context) watching() *responses {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watch
}

// Want begins to wait for an answer to a fetch or XMLHttpRequest, from now on.
func (c *Context) Want(w *Wanted) {
	w.done = make(chan struct{})
	r := c.watching()
	if r == nil {
		w.end(nil, fmt.Errorf("the network is not watched"))
		return
	}
	r.mu.Lock()
	r.wanted = append(r.wanted, w)
	r.mu.Unlock()
}

// Done is closed when the answer has come, or never will.
func (w *Wanted) Done() <-chan struct{} { return w.done }

// Body returns the answer's bytes.
func (w *Wanted) Body() ([]byte, error) { return w.body, w.err }

func (w *Wanted) end(body []byte, err error) {
	w.once.Do(func() {
		w.body, w.err = body, err
		close(w.done)
	})
}

// WaitIdle returns when no request was under way for IdleWindow.
func (c *Context) WaitIdle(ctx context.Context) error {
	r := c.watching()
	if r == nil {
		return fmt.Errorf("waiting for the network: it is not watched")
	}
	for {
		r.mu.Lock()
		n, quiet, changed := r.count(), time.Since(r.quiet), r.changed
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

// Active lists addresses of requests that are under way.
func (c *Context) Active() []string {
	r := c.watching()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var urls []string
	for _, q := range r.active {
		if !q.stream {
			urls = append(urls, q.url)
		}
	}
	return urls
}

func (r *responses) count() int {
	n := 0
	for _, q := range r.active {
		if !q.stream {
			n++
		}
	}
	return n
}

func (r *responses) touch() {
	if r.count() == 0 {
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
	case "Network.loadingFinished":
		var e network.EventLoadingFinished
		if decode(params, &e) {
			r.ends(t, e.RequestID, nil)
		}
	case "Network.loadingFailed":
		var e network.EventLoadingFailed
		if decode(params, &e) {
			r.ends(t, e.RequestID, fmt.Errorf("the request failed: %s", e.ErrorText))
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
				for _, w := range old.wanted {
					w.end(nil, fmt.Errorf("the page was left before the answer came"))
				}
				delete(r.active, k)
			}
		}
	}
	if e.Type == network.ResourceTypeFetch || e.Type == network.ResourceTypeXHR {
		rest := r.wanted[:0]
		for _, w := range r.wanted {
			if w.Match(q.url, q.method) {
				w.tab = t
				q.wanted = append(q.wanted, w)
			} else {
				rest = append(rest, w)
			}
		}
		r.wanted = rest
	}
	if old, redirected := r.active[requestKey{t, e.RequestID}]; redirected {
		q.wanted = append(q.wanted, old.wanted...)
	}
	r.active[requestKey{t, e.RequestID}] = q
	r.touch()
}

func (r *responses) answered(t *Tab, e *network.EventResponseReceived) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := requestKey{t, e.RequestID}
	q, ok := r.active[k]
	if !ok {
		return
	}
	q.status = e.Response.Status
	if e.Response.MimeType == "text/event-stream" {
		q.stream = true // it never ends; a page with one can still be idle
	}
	r.active[k] = q
	r.touch()
}

func (r *responses) ends(t *Tab, id network.RequestID, err error) {
	r.mu.Lock()
	k := requestKey{t, id}
	q, ok := r.active[k]
	delete(r.active, k)
	if ok {
		r.touch()
	}
	r.mu.Unlock()
	for _, w := range q.wanted {
		if err != nil && noContent(q.status) {
			w.end(nil, nil) // the browser cancels what has no body to read
			continue
		}
		if err != nil {
			w.end(nil, err)
			continue
		}
		// The body is asked for at once: a page that leaves takes it along.
		p := t.s.send(network.CommandGetResponseBody, network.GetResponseBodyParams{RequestID: id})
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			var res struct {
				Body    string `json:"body"`
				Encoded bool   `json:"base64Encoded"`
			}
			if err := p.wait(ctx, &res); err != nil {
				w.end(nil, fmt.Errorf("reading the answer's body: %w", err))
				return
			}
			body := []byte(res.Body)
			if res.Encoded {
				if body, err = base64.StdEncoding.DecodeString(res.Body); err != nil {
					w.end(nil, fmt.Errorf("reading the answer's body: %w", err))
					return
				}
			}
			w.end(body, nil)
		}()
	}
}

// noContent reports whether answers of a status never have a body.
func noContent(status int64) bool { return status == 204 || status == 205 || status == 304 }
