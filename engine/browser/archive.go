package browser

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"

	"troupe/engine/mask"
)

// Bounds of an archive. What does not fit is counted, or has no body.
const (
	maxExchanges   = 2000
	maxArchiveBody = 4 << 20  // of one answer
	maxArchived    = 16 << 20 // of all answers, and of what was sent
	maxSent        = 1 << 20  // of what was sent with one request
	maxHeader      = 16 << 10
)

// Archive collects the requests of a context's pages with their answers. Its methods with
// lower-case names, but event, run while a.mu is held.
type Archive struct {
	clean  func(string) mask.Text
	bodies bool

	mu        sync.Mutex
	exchanges []*Exchange
	open      map[requestKey]*Exchange // those under way
	pages     int
	shown     map[*Tab]int // the number of the document that a tab shows
	held      int          // bytes of bodies, those under way to us included
	left      int
	reading   sync.WaitGroup
	over      bool // see Finish
}

// Exchange is a request with its answer.
type Exchange struct {
	At          time.Time
	Page        int // the number of its document in the archive, from 1; zero: it belongs to none
	Document    bool
	Kind        string
	Method, URL mask.Text
	Sends       []Field
	Sent        mask.Text // what was sent with it
	SentSize    int
	SentCut     bool // Sent is the beginning of it, or less
	Status      int  // zero: no answer
	StatusText  mask.Text
	Protocol    string
	Type        mask.Text // of its content
	Gets        []Field
	Body        mask.Text
	Missing     string // why there is no body, although there was one; empty: there is
	Size        int    // of the body
	Wire        int64  // bytes that came, heads included
	Server      string // the address that answered
	Took        time.Duration

	timing *network.ResourceTiming
	began  float64 // by the browser's clock, in seconds
	key    requestKey
	from   *session
	by     bool // a service worker has answered
	ended  bool
	asked  bool

	foreign bool // it belongs to a frame of a site that the context's pages may not be from
}

// Field is a field of a request or of its answer.
type Field struct{ Name, Value mask.Text }

// Record watches the network, and begins an archive of it.
func (nw *Network) Record(ctx context.Context, bodies bool) *Archive {
	a := &Archive{clean: nw.context.clean, bodies: bodies, open: map[requestKey]*Exchange{}, shown: map[*Tab]int{}}
	nw.recording.Store(true)
	nw.watch(a)
	if bodies {
		nw.openBodies(ctx)
	}
	return a
}

// event handles a tab's requests, on the reader's goroutine.
func (a *Archive) event(t *Tab, s *session, method string, params jsonv2.Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	switch method {
	case "Network.requestWillBeSent":
		var e network.EventRequestWillBeSent
		if decode(params, &e) && e.Request != nil && !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "blob:") {
			a.begins(t, s, &e)
		}
	case "Network.responseReceived":
		var e network.EventResponseReceived
		if decode(params, &e) && e.Response != nil {
			a.answered(requestKey{t, e.RequestID}, s, e.Response)
		}
	case "Network.dataReceived":
		var e network.EventDataReceived
		if decode(params, &e) {
			a.goesOn(requestKey{t, e.RequestID}, int(e.DataLength))
		}
	case "Network.loadingFinished":
		var e network.EventLoadingFinished
		if decode(params, &e) {
			a.ends(requestKey{t, e.RequestID}, s, int64(e.EncodedDataLength), float64(e.Timestamp))
		}
	case "Network.loadingFailed":
		var e network.EventLoadingFailed
		if decode(params, &e) {
			a.fails(requestKey{t, e.RequestID}, s, float64(e.Timestamp))
		}
	}
}

func (a *Archive) begins(t *Tab, s *session, e *network.EventRequestWillBeSent) {
	k := requestKey{t, e.RequestID}
	if old := a.open[k]; old != nil && e.RedirectResponse != nil { // the same request goes on elsewhere
		old.answer(a, e.RedirectResponse)
		old.Wire = int64(e.RedirectResponse.EncodedDataLength)
		old.end(float64(e.Timestamp))
		delete(a.open, k)
	}
	sends := a.headers(e.Request.Headers)
	if len(a.exchanges) >= maxExchanges || !a.takes(len(e.Request.URL)+sizeOf(sends)) {
		a.left++
		return
	}
	q := &Exchange{At: time.UnixMicro(int64(float64(e.WallTime) * 1e6)), Kind: e.Type.String(), Method: a.clean(e.Request.Method).Short(maxMethod), URL: a.clean(e.Request.URL), Sends: sends,
		began: float64(e.Timestamp), key: k, from: s}
	if q.Document = e.Type == network.ResourceTypeDocument && e.FrameID == t.mainFrame(); q.Document && e.RedirectResponse == nil {
		a.pages++
		a.shown[t] = a.pages
	}
	q.Page = a.shown[t]
	var sent []byte
	for _, part := range e.Request.PostDataEntries {
		sent = append(sent, part.Bytes...)
		q.SentCut = q.SentCut || len(part.Bytes) >= cutBytes
	}
	q.SentCut = q.SentCut || len(sent) >= maxBytes/4*3 || len(sent) == 0 && e.Request.HasPostData // the browser does not read files for us
	q.SentSize, q.foreign = len(sent), !t.context.Sites.AllowFrame(e.DocumentURL)
	if a.bodies && !q.foreign && a.takes(len(sent)) {
		q.Sent = a.clean(string(sent))
	}
	a.open[k], a.exchanges = q, append(a.exchanges, q)
}

// takes counts so many bytes, and reports whether they fit.
func (a *Archive) takes(n int) bool {
	if a.held+n > maxArchived {
		return false
	}
	a.held += n
	return true
}

func (a *Archive) answered(k requestKey, s *session, r *network.Response) {
	if q := a.open[k]; q != nil {
		q.from = s
		q.answer(a, r)
	}
}

func (q *Exchange) answer(a *Archive, r *network.Response) {
	q.Status, q.StatusText, q.Type, q.Protocol = int(r.Status), a.clean(r.StatusText).Short(maxMethod), a.clean(r.MimeType).Short(maxMethod), r.Protocol
	q.Server, q.timing, q.by = r.RemoteIPAddress, r.Timing, r.FromServiceWorker
	if gets := a.headers(r.Headers); a.takes(sizeOf(gets)) {
		q.Gets = gets
	}
}

// private are the fields that sign a person in: they are in no archive.
var private = map[string]bool{"cookie": true, "set-cookie": true, "authorization": true, "proxy-authorization": true}

// headers are the fields of a request or an answer, sorted by name.
func (a *Archive) headers(h network.Headers) []Field {
	out := make([]Field, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		v, ok := h[name].(string)
		if !ok || private[strings.ToLower(name)] || strings.HasPrefix(name, ":") {
			continue
		}
		out = append(out, Field{a.clean(name).Short(maxAddress), a.clean(strings.ReplaceAll(v, "\n", ", ")).Short(maxHeader)})
	}
	return out
}

func sizeOf(all []Field) (n int) {
	for _, h := range all {
		n += len(h.Name.String()) + len(h.Value.String())
	}
	return n
}

func (a *Archive) goesOn(k requestKey, n int) {
	if q := a.open[k]; q != nil {
		q.Size += n
	}
}

func (a *Archive) ends(k requestKey, s *session, wire int64, at float64) {
	q := a.open[k]
	if q == nil {
		return
	}
	delete(a.open, k)
	q.from, q.Wire = s, wire
	q.end(at)
	a.ask(q)
}

// fails ends a request without all of its answer. What a page has cancelled when it had
// begun to read is asked for all the same.
func (a *Archive) fails(k requestKey, s *session, at float64) {
	q := a.open[k]
	if q == nil {
		return
	}
	delete(a.open, k)
	q.from = s
	q.end(at)
	if q.Status != 0 {
		a.ask(q)
	}
}

func (q *Exchange) end(at float64) {
	q.ended, q.Took = true, max(0, time.Duration((at-q.began)*float64(time.Second)))
}

// ask asks for the body of an answer.
func (a *Archive) ask(q *Exchange) {
	if q.asked || noContent(int64(q.Status)) || q.Method.String() == "HEAD" {
		return
	}
	q.asked = true
	switch {
	case !a.bodies:
		q.Missing = "bodies were not asked for"
		return
	case q.foreign:
		q.Missing = "it belongs to a frame of a site that is not the task's"
		return
	case q.Size > maxArchiveBody:
		q.Missing = "it is larger than the limit of one body"
		return
	case !a.takes(q.Size):
		q.Missing = "the bodies are larger together than their limit"
		return
	}
	read := q.key.tab.bodies.ask(q.from, q.key.id, q.by)
	size := q.Size
	a.reading.Go(func() {
		body, err := read()
		text := a.clean(string(body))
		a.mu.Lock()
		defer a.mu.Unlock()
		if q.Size = len(body); err != nil {
			q.Size = size
		}
		switch {
		case err != nil:
			a.held -= size
			q.Missing = "the browser does not have it any more"
		case len(body) > maxArchiveBody:
			a.held -= size
			q.Missing = "it is larger than the limit of one body"
		case !a.takes(len(body) - size):
			a.held -= size
			q.Missing = "the bodies are larger together than their limit"
		default:
			q.Body = text
		}
	})
}

// Finish asks for what has begun to come, waits for all bodies until ctx ends, and
// returns the exchanges that have an answer, in the order in which they began, with how
// many requests did not fit.
func (a *Archive) Finish(ctx context.Context) (all []Exchange, left int) {
	a.mu.Lock()
	a.over = true
	for _, q := range a.open {
		if q.Status != 0 {
			a.ask(q)
		}
	}
	clear(a.open)
	a.mu.Unlock()
	read := make(chan struct{})
	go func() {
		a.reading.Wait()
		close(read)
	}()
	select {
	case <-read:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.exchanges {
		if q.Status == 0 {
			continue
		}
		e := *q
		if e.asked && e.Body.String() == "" && e.Missing == "" && e.Size > 0 {
			e.Missing = "it did not come in time"
		}
		all = append(all, e)
	}
	return all, a.left
}
