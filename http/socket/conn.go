package socket

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/attach"
)

// conn is one client of a session. It is [engine.Client] for the task that lets it in.
type conn struct {
	idle     time.Duration
	patience time.Duration
	account  string                  // of the client
	cancel   context.CancelCauseFunc // ends the task

	ready  chan struct{}        // closed when the browser is there
	socket chan *websocket.Conn // gives the socket, once it has begun
	over   chan struct{}        // closed when no message is carried any more
	done   chan struct{}        // closed when the task has ended, too

	mu     sync.Mutex
	ws     *websocket.Conn
	left   bool // nothing is read any more
	reason *goodbye
	why    attach.End
	last   time.Time

	executed *api.Executed // after done
	err      error
}

// goodbye is why a socket is closed.
type goodbye struct {
	code int
	text string
}

// Codes of closed sockets. Each text begins with a word for programs.
var (
	byeClosed   = goodbye{websocket.CloseNormalClosure, "closed: the client sent Browser.close; the session stays"}
	byeSession  = goodbye{4000, "session_ended: the session was closed or its time was over"}
	byeTaken    = goodbye{4001, "taken_over: another client attached with takeover=true"}
	byeDraining = goodbye{4002, "draining: the service stops; connect again when it is back"}
	byeCrashed  = goodbye{4003, "browser_crashed: the browser ended; connect again to go on in a new one"}
	byeIdle     = goodbye{4004, "idle: no command came for the session's timeout, and the session ends"}
	byeLimit    = goodbye{4005, "time_limit: the connection was open for as long as the plan allows; connect again"}
	byeSlow     = goodbye{4006, "slow: the client did not take what it was sent"}
	byeRevoked  = goodbye{4007, "revoked: the token, or that of the ticket, is not valid any more"}
	byeLost     = goodbye{4009, "node_lost: the node of the session does not answer; connect again, the session goes on at another node"}
	byeFailed   = goodbye{4008, "failed: the connection could not go on; connect again"}
)

var _ engine.Client = (*conn)(nil)

func newConn(account string, idle, patience time.Duration) *conn {
	return &conn{
		account: account, idle: idle, patience: patience, ready: make(chan struct{}), socket: make(chan *websocket.Conn, 1),
		over: make(chan struct{}), done: make(chan struct{}),
	}
}

func (c *conn) Ready() { close(c.ready) }

func (c *conn) Idle() time.Duration { return c.idle }

// begun waits for the socket.
func (c *conn) begun(ctx context.Context) (*websocket.Conn, error) {
	c.mu.Lock()
	ws := c.ws
	c.mu.Unlock()
	if ws != nil {
		return ws, nil
	}
	select {
	case ws = <-c.socket:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ws == nil {
		return nil, errNoSocket
	}
	c.mu.Lock()
	c.ws = ws
	c.mu.Unlock()
	context.AfterFunc(ctx, func() { // what waits for a message waits no longer
		c.mu.Lock()
		defer c.mu.Unlock()
		c.left = true
		_ = ws.SetReadDeadline(time.Now())
	})
	return ws, nil
}

var errNoSocket = errors.New("the client has left before its socket began")

func (c *conn) Read(ctx context.Context) ([]byte, error) {
	ws, err := c.begun(ctx)
	if err != nil {
		return nil, err
	}
	_, b, err := ws.ReadMessage()
	return b, err
}

// Write is called by one goroutine, and only once a message was read or an event came: there is a
// socket soon, or never.
func (c *conn) Write(b []byte) error {
	c.mu.Lock()
	ws := c.ws
	c.mu.Unlock()
	if ws == nil {
		return errNoSocket
	}
	_ = ws.SetWriteDeadline(time.Now().Add(c.patience))
	return ws.WriteMessage(websocket.TextMessage, b)
}

// extend gives the client more time to show that it is there.
func (c *conn) extend(ws *websocket.Conn, more time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return nil
	}
	return ws.SetReadDeadline(time.Now().Add(more))
}

func (c *conn) Over(why attach.End, last time.Time) {
	c.mu.Lock()
	c.why, c.last = why, last
	c.mu.Unlock()
	close(c.over)
}

func (c *conn) Unused() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() {
		return 0
	}
	return time.Since(c.last)
}

// end ends the connection for a reason.
func (c *conn) end(g goodbye) {
	c.mu.Lock()
	if c.reason == nil {
		c.reason = &g
	}
	c.mu.Unlock()
	c.cancel(engine.ErrCancelled)
}

// bye is what the client is told; nil: it has left.
func (c *conn) bye() *goodbye {
	c.mu.Lock()
	reason, why := c.reason, c.why
	c.mu.Unlock()
	switch {
	case why == attach.EndLeft && reason == nil:
		return nil
	case reason != nil:
		return reason
	}
	switch why {
	case attach.EndClosed:
		return &byeClosed
	case attach.EndIdle:
		return &byeIdle
	case attach.EndSlow:
		return &byeSlow
	case attach.EndBrowser:
		return &byeCrashed
	}
	<-c.done
	switch x := c.executed; {
	case c.err != nil || x == nil || x.Outcome == nil:
		return &byeFailed
	case x.Outcome.End == engine.EndTimeout:
		return &byeLimit
	case x.Outcome.End == engine.EndInterrupted:
		return &byeDraining
	case x.Outcome.End == engine.EndCrashed:
		return &byeCrashed
	case x.Outcome.End == engine.EndLost:
		return &byeLost
	case x.Outcome.End == engine.EndCancelled:
		return &byeSession
	}
	return &byeFailed
}
