package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// MaxCaptured bounds the response bodies that a context holds, together and in
// bytes.
const MaxCaptured = 16 << 20

// ErrTooMuch is the error of one that does not go in.
var ErrTooMuch = errors.New("the bodies are too large together")

// Wanted is a response that a task waits for.
type Wanted struct {
	// Match says whether a request is the one; set before Want.
	Match func(url, method string) bool
	// Key is the same for those that wait for the same responses: each gets one of
	// its own. Empty: it shares with no other.
	Key string

	n      int                       // its place among all
	begun  atomic.Bool               // a request has begun whose answer it gets
	came   atomic.Pointer[time.Time] // when the last of the answer came; nil: it has not
	answer atomic.Pointer[answerHead]
	status atomic.Int64 // of the answer, once it has begun
	once   sync.Once
	done   chan struct{}
	body   []byte
	err    error
}

// Want begins to wait for answers to a fetch or XMLHttpRequest, from now on.
func (nw *Network) Want(ctx context.Context, all ...*Wanted) {
	r := nw.current()
	for _, w := range all {
		w.done = make(chan struct{})
		if r == nil {
			w.end(nil, fmt.Errorf("the network is not watched"))
		}
	}
	if r == nil {
		return
	}
	r.mu.Lock()
	for _, w := range all {
		r.asked++
		w.n = r.asked
	}
	r.wanted = append(r.wanted, all...)
	r.bodies = true
	r.mu.Unlock()
	nw.openBodies(ctx)
}

// openBodies begins the second sessions of the tabs that are open.
func (nw *Network) openBodies(ctx context.Context) {
	for _, t := range nw.context.Tabs() {
		if p := t.bodies.open(); p != nil {
			_ = p.wait(ctx, nil) // without it, answers of service workers cannot be read, which they say
		}
	}
}

// Done is closed when the answer has come, or never will.
func (w *Wanted) Done() <-chan struct{} { return w.done }

// Begun reports whether a request has begun whose answer it gets.
func (w *Wanted) Begun() bool { return w.begun.Load() }

// Status is the answer's, or 0 while there is none.
func (w *Wanted) Status() int { return int(w.status.Load()) }

// answerHead is what an answer says of itself.
type answerHead struct{ url, kind string }

// Answer is the address that has answered, and the type of its body.
func (w *Wanted) Answer() (url, kind string) {
	if a := w.answer.Load(); a != nil {
		return a.url, a.kind
	}
	return "", ""
}

// Arrived is when the last of the answer came, which may be before its body was read, or when
// it was known that there is none.
func (w *Wanted) Arrived() (at time.Time, come bool) {
	if came := w.came.Load(); came != nil {
		return *came, true
	}
	return at, false
}

// arrives notes when the answer came.
func (w *Wanted) arrives() {
	now := time.Now()
	w.came.CompareAndSwap(nil, &now)
}

// Body returns the answer's bytes.
func (w *Wanted) Body() ([]byte, error) { return w.body, w.err }

func (w *Wanted) end(body []byte, err error) {
	w.once.Do(func() {
		w.arrives()
		w.body, w.err = body, err
		close(w.done)
	})
}

// take gives the body of an answer to those who wait for it; err is why there may
// be none. It is asked for at once, even then: what has arrived can be read
// although the page has left, or has not read it.
func (r *responses) take(k requestKey, q request, err error) {
	switch {
	case len(q.wanted) == 0:
		return
	case err != nil && noContent(q.status):
		q.end(nil, nil) // the browser cancels what has no body to read
		return
	case err != nil && q.status == 0:
		q.end(nil, err)
		return
	}
	if r.held+q.size > MaxCaptured {
		q.end(nil, ErrTooMuch)
		return
	}
	r.held += q.size
	for _, w := range q.wanted {
		w.arrives()
	}
	read := k.tab.bodies.ask(q.from, k.id, q.worker)
	go func() {
		body, missing := read()
		if !r.holds(len(body) - q.size) {
			body, missing = nil, ErrTooMuch
		}
		if missing != nil && err == nil {
			err = missing
		}
		if missing == nil {
			err = nil
		}
		q.end(body, err)
	}()
}

// holds counts so many bytes more, and reports whether all that is held stays
// within the bound.
func (r *responses) holds(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held += n; r.held > MaxCaptured {
		r.held -= n
		return false
	}
	return true
}

// takeUnread gives the body of an answer that the page may never read to those
// who wait for it, as soon as it has arrived.
func (r *responses) takeUnread(k requestKey, q request) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if body, err := k.tab.bodies.ask(q.from, k.id, q.worker)(); err == nil {
			if !r.holds(len(body)) {
				body, err = nil, ErrTooMuch
			}
			q.end(body, err)
			return
		}
		select {
		case <-again.C:
		case <-q.wanted[0].done: // it was read after all
			return
		case <-k.tab.closed:
			return
		case <-r.over:
			return
		}
	}
}

// answerBody waits for a body that was asked for.
func answerBody(p *pending) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var res struct {
		Body    jsonv2.Value `json:"body"`
		Encoded bool         `json:"base64Encoded"`
	}
	if err := p.wait(ctx, &res); err != nil {
		return nil, fmt.Errorf("reading the answer's body: %w", err)
	}
	body, err := p.text(res.Body)
	if err == nil && res.Encoded {
		body, err = base64.StdEncoding.AppendDecode(nil, body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer's body: %w", err)
	}
	return body, nil
}

func (q request) end(body []byte, err error) {
	for _, w := range q.wanted {
		w.end(body, err)
	}
}

// noContent reports whether answers of a status never have a body.
func noContent(status int64) bool { return status == 204 || status == 205 || status == 304 }
