package browser

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// ErrGone is the error of a call to a browser that has died or was closed.
var ErrGone = errors.New("the browser is gone")

// ErrDetached is the error of a call to a tab that has closed.
var ErrDetached = errors.New("the tab is closed")

// conn carries the protocol of one browser. Commands leave in the order of
// their send calls; send never blocks, so a browser that has stopped reading
// holds up nobody but those who wait for its answers.
type conn struct {
	wire *wire

	mu       sync.Mutex
	wake     sync.Cond
	queue    []*cdproto.Message
	waiting  map[int64]*pending
	sessions map[target.SessionID]*session
	next     int64
	closed   bool
	commands func(name string) // hears of each; nil: nobody wants to know

	gone chan struct{} // closed when nothing can be read any more
}

// session is one addressee in the browser: a tab, a frame of another site, or,
// with the empty id, the browser itself.
type session struct {
	conn    *conn
	id      target.SessionID
	onEvent func(method string, params jsonv2.Value) // on the reader's goroutine: must not block
	onWhole func(*message)                           // in place of onEvent: of a guest
}

// pending is a command that was sent.
type pending struct {
	conn  *conn
	id    int64
	on    target.SessionID
	name  string
	reply chan *message  // one message, or closed without one
	told  func(*message) // in place of reply, on the reader's goroutine; nil: there is no answer
	long  []byte         // of the answer, once it was waited for: the text that was asked for, if it is long
}

func newConn(w *wire) *conn {
	c := &conn{
		wire:     w,
		waiting:  map[int64]*pending{},
		sessions: map[target.SessionID]*session{},
		gone:     make(chan struct{}),
	}
	c.wake.L = &c.mu
	go c.write()
	go c.read()
	return c
}

// open makes the session with the id; events that arrive before are dropped.
func (c *conn) open(id target.SessionID, onEvent func(string, jsonv2.Value)) *session {
	return c.add(&session{conn: c, id: id, onEvent: onEvent})
}

func (c *conn) add(s *session) *session {
	c.mu.Lock()
	c.sessions[s.id] = s
	c.mu.Unlock()
	return s
}

// drop forgets a session that the browser has detached; calls that wait for it
// gets ErrDetached.
func (c *conn) drop(id target.SessionID) {
	var left []*pending
	c.mu.Lock()
	delete(c.sessions, id)
	for n, p := range c.waiting {
		if p.on == id {
			delete(c.waiting, n)
			left = append(left, p)
		}
	}
	c.mu.Unlock()
	for _, p := range left {
		p.lost()
	}
}

// answered hands the answer on.
func (p *pending) answered(m *message) {
	if p.told != nil {
		p.told(m)
		return
	}
	p.reply <- m
}

// lost says that there will be no answer.
func (p *pending) lost() {
	if p.told != nil {
		p.told(nil)
		return
	}
	close(p.reply)
}

// close ends the connection. Chromium ends itself when its pipe is closed.
func (c *conn) close() {
	c.mu.Lock()
	c.closed = true
	c.wake.Signal()
	c.mu.Unlock()
	c.wire.Close()
}

func (c *conn) write() {
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && !c.closed {
			c.wake.Wait()
		}
		if c.closed {
			c.mu.Unlock()
			return
		}
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, m := range batch {
			if err := c.wire.write(m); err != nil {
				return // the reader sees the end too
			}
		}
		if c.wire.flush() != nil {
			return
		}
	}
}

func (c *conn) read() {
	defer func() {
		var left []*pending
		c.mu.Lock()
		c.closed = true
		for n, p := range c.waiting {
			delete(c.waiting, n)
			left = append(left, p)
		}
		c.wake.Signal()
		c.mu.Unlock()
		for _, p := range left {
			p.lost()
		}
		close(c.gone)
	}()
	for {
		m, err := c.wire.read()
		if err != nil {
			var syntax *jsonv2.SyntacticError
			if errors.As(err, &syntax) {
				continue // one unreadable message is no reason to lose the browser
			}
			return
		}
		c.mu.Lock()
		if m.ID != 0 {
			p := c.waiting[m.ID]
			delete(c.waiting, m.ID)
			c.mu.Unlock()
			if p != nil {
				p.answered(m)
			}
			continue
		}
		s := c.sessions[m.SessionID]
		c.mu.Unlock()
		switch {
		case s == nil:
		case s.onWhole != nil:
			s.onWhole(m)
		case s.onEvent != nil:
			s.onEvent(string(m.Method), m.Params)
		}
	}
}

// open reports whether the session still is one.
func (s *session) open() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.conn.sessions[s.id] == s
}

// watchCommands calls told with the name of each command from now on, under the lock of
// the connection; nil: nobody wants to know.
func (c *conn) watchCommands(told func(name string)) {
	c.mu.Lock()
	c.commands = told
	c.mu.Unlock()
}

// send queues a command and returns at once. Params that cannot be encoded are
// a mistake in this package, so the error waits for the next call.
func (s *session) send(method string, params any) *pending {
	c := s.conn
	p := &pending{conn: c, on: s.id, name: method, reply: make(chan *message, 1)}
	m := &cdproto.Message{SessionID: s.id, Method: cdproto.MethodType(method)}
	if b, encoded := params.(jsonv2.Value); encoded {
		m.Params = b
	} else if params != nil {
		b, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
		if err != nil {
			p.reply <- &message{Message: cdproto.Message{Error: &cdproto.Error{Message: fmt.Sprintf("encoding %s: %v", method, err)}}}
			return p
		}
		m.Params = b
	}
	if !c.put(p, m) {
		close(p.reply)
	}
	return p
}

// put queues the command of a pending one, unless its session is over.
func (c *conn) put(p *pending, m *cdproto.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.sessions[p.on]; c.closed || !open {
		return false
	}
	if c.commands != nil {
		c.commands(p.name)
	}
	c.next++
	p.id, m.ID = c.next, c.next
	c.waiting[p.id] = p
	c.queue = append(c.queue, m)
	c.wake.Signal()
	return true
}

// wait returns the command's answer, decoded into res unless that is nil.
func (p *pending) wait(ctx context.Context, res any) error {
	select {
	case m, ok := <-p.reply:
		return p.take(m, ok, res)
	default:
	}
	select {
	case m, ok := <-p.reply:
		return p.take(m, ok, res)
	case <-ctx.Done():
		p.conn.mu.Lock()
		delete(p.conn.waiting, p.id)
		p.conn.mu.Unlock()
		return context.Cause(ctx)
	}
}

// await waits until there is an answer, or none will come, and leaves it to wait.
func (p *pending) await(ctx context.Context) {
	select {
	case m, ok := <-p.reply:
		if ok {
			p.reply <- m
		}
	case <-ctx.Done():
	}
}

func (p *pending) take(m *message, ok bool, res any) error {
	if !ok {
		p.conn.mu.Lock()
		closed := p.conn.closed
		p.conn.mu.Unlock()
		if closed {
			return fmt.Errorf("calling %s: %w", p.name, ErrGone)
		}
		return fmt.Errorf("calling %s: %w", p.name, ErrDetached)
	}
	if m.Error != nil {
		return fmt.Errorf("calling %s: %w", p.name, m.Error)
	}
	if res == nil {
		return nil
	}
	p.long = m.long
	if m.cut && len(m.Result) == 0 {
		return fmt.Errorf("reading the answer to %s: %w", p.name, ErrLargeAnswer)
	}
	if err := jsonv2.Unmarshal(m.Result, res, chromedp.DefaultUnmarshalOptions); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", p.name, err)
	}
	if m.cut { // some of it is there all the same
		return fmt.Errorf("reading the answer to %s: %w", p.name, ErrLargeAnswer)
	}
	return nil
}

// text is a text of the answer that may be long: v is what the answer has in its
// place.
func (p *pending) text(v jsonv2.Value) ([]byte, error) {
	b, err := p.textAsItIs(v)
	return WellFormed(b), err
}

// textAsItIs is text where halves of characters are to be put back one day.
func (p *pending) textAsItIs(v jsonv2.Value) ([]byte, error) {
	if p.long != nil {
		return p.long, nil
	}
	var s string
	if err := jsonv2.Unmarshal(v, &s, chromedp.DefaultUnmarshalOptions); err != nil {
		return nil, err
	}
	return []byte(s), nil
}

// call sends a command and waits for its answer.
func (s *session) call(ctx context.Context, method string, params, res any) error {
	return s.send(method, params).wait(ctx, res)
}
