package browser

import (
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"troupe/engine/mask"
)

// Bounds of a log. What comes beyond is counted.
const (
	maxMessages    = 1000
	maxMessageText = 2000
	maxRequests    = 1000
	maxAddress     = 2000
	maxMethod      = 100
)

// Log collects the console messages and network requests of a context's pages.
type Log struct {
	began            time.Time
	console, network bool
	clean            func(string) mask.Text

	mu       sync.Mutex
	messages []Message
	requests []*Request
	open     map[requestKey]*Request // those under way
	said     map[*Tab]float64        // when its last message came, by its own clock
	more     Left
}

// Left is how many lines did not fit into a log.
type Left struct{ Messages, Requests int }

// Message is a line of the console.
type Message struct {
	At    time.Time
	Level string // log, info, warning, error, debug
	Text  mask.Text
	URL   mask.Text // of the script
	Line  int       // from 1; zero: unknown
}

// Request is a network request of a page.
type Request struct {
	At          time.Time
	Method, URL mask.Text
	Kind        string // such as Document, Script, Fetch
	Status      int    // zero: no answer
	Bytes       int64  // as they came over the wire, heads included
	Took        time.Duration
	Done        bool
	Cached      bool
	Error       mask.Text

	began float64 // by the browser's clock, in seconds
	url   string  // as it was asked for
}

// StartLog begins a log of the console messages and requests of all tabs, open now
// or later, with their frames.
func (c *Context) StartLog(console, network bool) *Log {
	l := &Log{began: time.Now(), console: console, network: network, clean: c.clean, open: map[requestKey]*Request{}, said: map[*Tab]float64{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = l
	for _, t := range c.tabs {
		t.startLog(l, c.Network.responses != nil)
	}
	return l
}

// StopLog ends the log. Its content stays.
func (c *Context) StopLog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.log
	if l == nil {
		return
	}
	c.log = nil
	for _, t := range c.tabs {
		t.everyProcess(func(s *session) {
			if l.console {
				s.send(runtime.CommandDisable, nil)
				s.send(cdplog.CommandDisable, nil)
			}
			if l.network && c.Network.responses == nil {
				s.send(network.CommandDisable, nil)
			}
		})
	}
}

func (c *Context) logging() *Log {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log
}

// startLog makes the browser report what a tab logs and requests. No bodies are
// kept for it.
func (t *Tab) startLog(l *Log, watched bool) {
	t.remote.watch()
	t.everyProcess(func(s *session) { l.listen(s, watched) })
}

// everyProcess calls do for the session with each process that has a part of the
// page.
func (t *Tab) everyProcess(do func(*session)) {
	do(t.s)
	for _, s := range t.remote.sessions() {
		do(s)
	}
}

// listen makes one process report what its part of a page logs and requests.
func (l *Log) listen(s *session, watched bool) {
	if l.console {
		s.send(runtime.CommandEnable, nil)
		s.send(cdplog.CommandEnable, nil)
	}
	if l.network && !watched {
		s.send(network.CommandEnable, map[string]any{"maxResourceBufferSize": 0, "maxTotalBufferSize": 0})
	}
}

// Messages returns the console messages so far, in order.
func (l *Log) Messages() []Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Message(nil), l.messages...)
}

// Requests returns the requests so far, in order. Those still in progress have no
// Done.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Request, len(l.requests))
	for i, q := range l.requests {
		all[i] = *q
	}
	return all
}

// Left returns how much did not fit.
func (l *Log) Left() Left {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.more
}

// event handles a tab's events, on the reader's goroutine.
func (l *Log) event(t *Tab, method string, params jsonv2.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		if l.console {
			l.hears(t, method, params)
		}
	case "Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFinished", "Network.loadingFailed":
		if l.network {
			l.sees(t, method, params)
		}
	}
}

// sees takes what a request has come to.
func (l *Log) sees(t *Tab, method string, params jsonv2.Value) {
	switch method {
	case "Network.requestWillBeSent":
		var e network.EventRequestWillBeSent
		if !decode(params, &e) || e.Request == nil || strings.HasPrefix(e.Request.URL, "data:") {
			return
		}
		k := requestKey{t, e.RequestID}
		if e.RedirectResponse != nil { // the same request goes on elsewhere
			l.ends(k, e.RedirectResponse.Status, e.RedirectResponse.EncodedDataLength, e.Timestamp, "")
		}
		if len(l.requests) >= maxRequests {
			l.more.Requests++
			return
		}
		q := &Request{Method: l.clean(e.Request.Method).Short(maxMethod), URL: l.clean(e.Request.URL).Short(maxAddress), Kind: e.Type.String(), At: time.UnixMicro(int64(float64(e.WallTime) * 1e6))}
		q.began, q.url = float64(e.Timestamp), e.Request.URL
		l.open[k], l.requests = q, append(l.requests, q)
	case "Network.responseReceived":
		var e network.EventResponseReceived
		if !decode(params, &e) || e.Response == nil {
			return
		}
		if q := l.open[requestKey{t, e.RequestID}]; q != nil {
			q.Status = int(e.Response.Status)
			q.Cached = e.Response.FromDiskCache || e.Response.FromPrefetchCache
		}
	case "Network.loadingFinished":
		var e network.EventLoadingFinished
		if decode(params, &e) {
			l.ends(requestKey{t, e.RequestID}, 0, e.EncodedDataLength, e.Timestamp, "")
		}
	case "Network.loadingFailed":
		var e network.EventLoadingFailed
		if decode(params, &e) {
			k, name := requestKey{t, e.RequestID}, e.ErrorText
			if q := l.open[k]; q != nil {
				name, _ = t.context.explained(q.url, name)
			}
			l.ends(k, 0, 0, e.Timestamp, name)
		}
	}
}

// ends is the end of a request, with its status where it was not told before.
func (l *Log) ends(k requestKey, status int64, bytes float64, at cdp.MonotonicTime, failure string) {
	q := l.open[k]
	if q == nil {
		return
	}
	delete(l.open, k)
	q.Done, q.Bytes, q.Error = true, int64(bytes), l.clean(failure)
	if status != 0 {
		q.Status = int(status)
	}
	q.Took = max(0, time.Duration((float64(at)-q.began)*float64(time.Second)))
}
