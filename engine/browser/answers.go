package browser

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/network"
)

// Wanted is an answer that somebody waits for.
type Wanted struct {
	// Match says whether a request is the one; set before Want.
	Match func(url, method string) bool

	tab    *Tab
	status atomic.Int64 // of the answer, once it has begun
	once   sync.Once
	done   chan struct{}
	body   []byte
	err    error
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

// Status is the answer's, or 0 while there is none.
func (w *Wanted) Status() int { return int(w.status.Load()) }

// Body returns the answer's bytes.
func (w *Wanted) Body() ([]byte, error) { return w.body, w.err }

func (w *Wanted) end(body []byte, err error) {
	w.once.Do(func() {
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
	p := k.tab.s.send(network.CommandGetResponseBody, network.GetResponseBodyParams{RequestID: k.id})
	go func() {
		body, missing := answerBody(p)
		if missing != nil && err == nil {
			err = missing
		}
		if missing == nil {
			err = nil
		}
		q.end(body, err)
	}()
}

// takeUnread gives the body of an answer that the page may never read to those
// who wait for it, as soon as it has arrived.
func (r *responses) takeUnread(k requestKey, q request) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if body, err := answerBody(k.tab.s.send(network.CommandGetResponseBody, network.GetResponseBodyParams{RequestID: k.id})); err == nil {
			q.end(body, nil)
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
		Body    string `json:"body"`
		Encoded bool   `json:"base64Encoded"`
	}
	if err := p.wait(ctx, &res); err != nil {
		return nil, fmt.Errorf("reading the answer's body: %w", err)
	}
	if !res.Encoded {
		return []byte(res.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(res.Body)
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
