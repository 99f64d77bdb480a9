package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/attach"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// Bounds of sockets.
const (
	maxSockets = 50               // of one account at once
	silence    = 2 * time.Minute  // of a client that answers no ping
	takesOver  = 20 * time.Second // for the client before to be gone
	farewell   = time.Second      // for the goodbye to arrive
	begins     = 10 * time.Second // for the answer to the handshake to arrive
)

// Node is where the sessions of this node are. [actors.Node] is one.
type Node interface {
	// Attach has a client play a task, and returns when it has left.
	Attach(ctx context.Context, m *api.Execute, c engine.Client) (*api.Executed, error)
}

// Others are the other nodes.
type Others interface {
	// SessionTicket returns a ticket for a session that another node has made, and uses it up if it
	// is to; nil: there is none.
	SessionTicket(ctx context.Context, sum []byte, session string, use bool) []byte
	// EndClients ends the client of a session of an account that is connected to another node, and
	// its tickets where the session has ended.
	EndClients(ctx context.Context, account, session, why string) bool
	// StopClients ends the clients of other nodes that use sessions of this one, which stops.
	StopClients()
}

// Config is what [Sockets] are made from.
type Config struct {
	Node    Node // nil: no client can attach
	Auth    access.Authenticator
	Control *access.Control
	Faults  *answer.Faults
	// Sessions lists the sessions of an account, at all nodes.
	Sessions func(ctx *fasthttp.RequestCtx, account persistence.Account) ([]answer.Session, *answer.Refusal)
	// NewID makes the identifier of a task.
	NewID func(time.Time) string
	// While returns a context that ends when the client of a connection goes away.
	While     func(context.Context, net.Conn) (context.Context, func())
	Others    Others        // nil: there are no other nodes
	Patience  time.Duration // for a client to take a message
	Heartbeat time.Duration // between pings
}

// Sockets are those of one node.
type Sockets struct {
	cfg     Config
	tickets tickets
	limit   *access.AccountLimiter
	leaving chan struct{} // closed when the service stops
	stop    sync.Once

	mu sync.Mutex
	by map[string]*conn // by session
}

// New makes them.
func New(cfg Config) *Sockets {
	return &Sockets{
		cfg: cfg, leaving: make(chan struct{}), by: map[string]*conn{},
		limit: access.NewAccountLimiter(maxSockets, engine.CodeRateLimited, fmt.Sprintf("The account already has %d clients attached to sessions: close some", maxSockets)),
	}
}

// Open is how many there are.
func (s *Sockets) Open() int { return s.limit.Taken() }

// Stop ends all sockets: the service stops.
func (s *Sockets) Stop() { s.stop.Do(s.stopAll) }

func (s *Sockets) stopAll() {
	close(s.leaving)
	if s.cfg.Others != nil {
		s.cfg.Others.StopClients()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.by {
		c.end(byeDraining)
	}
}

// Close ends the client and the tickets of a session, which is about to end, at all nodes.
func (s *Sockets) Close(ctx context.Context, account, session string) (attached bool) {
	return s.endEverywhere(ctx, account, session, sessionEnded)
}

// Why the clients of a session are to end.
const (
	sessionEnded = "session_ended"
	takenOver    = "taken_over"
)

// End ends the client of a session at this node, and its tickets where the session has ended.
// Those of another account stay: whoever asks may only guess that a session is theirs.
func (s *Sockets) End(account, session, why string) (attached bool) {
	if why == takenOver {
		return s.endOf(account, session, byeTaken)
	}
	s.tickets.forget(func(t *ticket) bool { return t.account.ID == account && t.session == session })
	return s.endOf(account, session, byeSession)
}

func (s *Sockets) endEverywhere(ctx context.Context, account, session, why string) bool {
	here := s.End(account, session, why)
	return s.cfg.Others != nil && s.cfg.Others.EndClients(ctx, account, session, why) || here
}

func (s *Sockets) endOf(account, session string, g goodbye) bool {
	s.mu.Lock()
	c := s.by[session]
	s.mu.Unlock()
	if c == nil || c.account != account {
		return false
	}
	c.end(g)
	return true
}

// bearer is who uses a session.
type bearer struct {
	account persistence.Account
	token   persistence.Digest
	ticket  string // empty: a token was shown
	session answer.Session
}

// authorize finds out who asks for a session: by a token in the header, or a ticket for the session
// in the address. A session that no node lists may be between two of them: the one that gets the
// client finds that out.
func (s *Sockets) authorize(ctx *fasthttp.RequestCtx, session string, attaches bool) (*bearer, *answer.Refusal) {
	b := &bearer{ticket: string(ctx.QueryArgs().Peek("ticket"))}
	if b.ticket == "" || len(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)) > 0 {
		account, token, no := s.cfg.Control.Account(ctx)
		if no != nil {
			return nil, no
		}
		b.account, b.token, b.ticket = account, persistence.DigestOf(token), ""
	} else {
		t := s.ticket(ctx, b.ticket, session, false)
		if t == nil {
			return nil, s.cfg.Control.Wrong(ctx, "The ticket is not valid: it was used, has expired, is for another session, or its node has gone")
		}
		b.account, b.token = t.account, t.by
		if valid, err := s.valid(t.by); err != nil {
			return nil, s.cfg.Faults.Refuse(ctx, "look up the token of a ticket", err)
		} else if !valid {
			return nil, answer.RefuseText(engine.CodeUnauthorized, "The ticket is not valid: the token that made it was revoked")
		}
	}
	all, no := s.cfg.Sessions(ctx, b.account)
	if no != nil {
		return nil, no
	}
	for _, one := range all {
		if one.ID == session {
			b.session = one
			return b, nil
		}
	}
	if s.cfg.Others != nil && (b.ticket != "" || attaches) {
		b.session = answer.Session{ID: session, Timeout: engine.Millis(engine.DefaultSessionTimeout)}
		return b, nil
	}
	return nil, noSession(session)
}

func noSession(id string) *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no session %q: it has ended, or never existed", lang.Short(id, 100)))
}

// valid reports whether a token is one. Where it is not, its tickets end.
func (s *Sockets) valid(token persistence.Digest) (bool, error) {
	_, err := s.cfg.Auth.LookupDigest(s.cfg.Faults.Base, token)
	if errors.Is(err, persistence.ErrNotFound) {
		s.tickets.forget(func(t *ticket) bool { return t.by == token })
		return false, nil
	}
	return true, err
}

// upgrader begins sockets. Who may is decided before.
var upgrader = websocket.FastHTTPUpgrader{
	WriteBufferSize: 32 << 10, ReadBufferSize: 32 << 10,
	CheckOrigin: func(*fasthttp.RequestCtx) bool { return true },
}

// options reads what stands in the address of a socket.
func options(ctx *fasthttp.RequestCtx) (takeover bool, wait time.Duration, no *answer.Refusal) {
	switch v := string(ctx.QueryArgs().Peek("takeover")); v {
	case "", "false":
	case "true":
		takeover, wait = true, takesOver
	default:
		return false, 0, answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf("takeover is %q: want true or false", lang.Short(v, 50))})
	}
	if v := string(ctx.QueryArgs().Peek("queueTimeout")); v != "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 || n > engine.Millis(engine.MaxQueueTimeout) {
			return false, 0, answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf("queueTimeout is %q: want milliseconds from 0 to %d", lang.Short(v, 50), engine.Millis(engine.MaxQueueTimeout))})
		}
		wait = max(wait, time.Duration(n)*time.Millisecond)
	}
	return takeover, wait, nil
}

// Attach begins the socket of a client.
func (s *Sockets) Attach(ctx *fasthttp.RequestCtx, session string) *answer.Refusal {
	b, no := s.authorize(ctx, session, true)
	if no != nil {
		return no
	}
	takeover, wait, no := options(ctx)
	switch {
	case no != nil:
		return no
	case !websocket.FastHTTPIsWebSocketUpgrade(ctx):
		ctx.Response.Header.Set(fasthttp.HeaderUpgrade, "websocket")
		return answer.RefuseText(answer.CodeUpgradeRequired, "Clients attach over a WebSocket")
	case s.cfg.Faults.Stopping():
		return answer.Refuse(engine.CodeDraining)
	case s.cfg.Node == nil:
		return answer.Refuse(engine.CodeNotFound)
	case b.ticket != "" && s.ticket(ctx, b.ticket, session, true) == nil:
		return s.cfg.Control.Wrong(ctx, "The ticket is not valid: it was used")
	}
	leave, no := s.limit.Take(b.account.ID)
	if no != nil {
		return no
	}
	if takeover {
		s.endEverywhere(ctx, b.account.ID, session, takenOver)
	}
	c, no := s.admit(ctx, b, wait, leave)
	if no != nil {
		return no
	}
	// A client that is gone before it has the answer gets no socket, and nobody tells.
	lost := time.AfterFunc(begins, func() { c.socket <- nil })
	err := upgrader.Upgrade(ctx, func(ws *websocket.Conn) {
		if lost.Stop() {
			s.carry(c, ws, b)
		}
	})
	if err != nil {
		if lost.Stop() {
			c.socket <- nil
		}
		return answer.RefuseText(engine.CodeInvalidRequest, "The request is not a WebSocket handshake: "+err.Error())
	}
	return nil
}

// admit has the session play the client, and returns when its messages would be read, or why they
// are not.
func (s *Sockets) admit(ctx *fasthttp.RequestCtx, b *bearer, wait time.Duration, leave func()) (*conn, *answer.Refusal) {
	now := time.Now()
	task := engine.AttachTask(b.session.ID)
	task.QueueTimeout = wait
	m := &api.Execute{TaskID: s.cfg.NewID(now), Account: access.ForActors(b.account), Task: task.Within(b.account.Sites), Asked: now}
	c := newConn(b.account.ID, time.Duration(b.session.Timeout)*time.Millisecond, s.cfg.Patience)
	base, cancel := context.WithCancelCause(s.cfg.Faults.Base)
	c.cancel = cancel
	client, stop := s.cfg.While(base, ctx.Conn())
	defer stop()
	go func() { // ends with the task
		defer leave()
		defer cancel(nil)
		c.executed, c.err = s.cfg.Node.Attach(base, m, c)
		s.mu.Lock()
		if s.by[b.session.ID] == c {
			delete(s.by, b.session.ID)
		}
		s.mu.Unlock()
		close(c.done)
	}()
	select {
	case <-c.ready:
	case <-c.done:
		return nil, s.refused(ctx, b, c)
	case <-client.Done():
		c.end(byeFailed)
		<-c.done
		return nil, answer.Refuse(engine.CodeDraining)
	}
	s.mu.Lock()
	s.by[b.session.ID] = c
	s.mu.Unlock()
	select {
	case <-s.leaving:
		c.end(byeDraining)
	default:
	}
	return c, nil
}

// refused is why a client was not let in.
func (s *Sockets) refused(ctx *fasthttp.RequestCtx, b *bearer, c *conn) *answer.Refusal {
	switch x := c.executed; {
	case c.err != nil:
		return s.cfg.Faults.Refuse(ctx, "attach a client", c.err)
	case x.Refusal != nil && x.Refusal.Code == engine.CodeSessionMismatch: // it was just listed
		return noSession(b.session.ID)
	case x.Refusal != nil:
		return answer.RefuseBy(x.Refusal)
	case x.Outcome != nil && len(x.Outcome.Failures) > 0:
		return answer.RefuseText(engine.CodeWorkerOffline, "The client was not let in: "+x.Outcome.Failures[0].Text)
	}
	return answer.RefuseText(engine.CodeWorkerOffline, "The session's browser ended before the client was let in")
}

// carry serves a socket until it ends.
func (s *Sockets) carry(c *conn, ws *websocket.Conn, b *bearer) {
	defer ws.Close()
	ws.SetReadLimit(attach.MaxMessage)
	_ = c.extend(ws, silence)
	ws.SetPongHandler(func(string) error { return c.extend(ws, silence) })
	c.mu.Lock()
	if c.ws == nil { // so that what is written first finds it
		c.mu.Unlock()
		c.socket <- ws
	} else {
		c.mu.Unlock()
	}
	beat := time.NewTicker(s.cfg.Heartbeat)
	defer beat.Stop()
	for carried := true; carried; {
		select {
		case <-c.over:
			carried = false
		case <-c.done:
			carried = false
		case <-beat.C:
			if valid, err := s.valid(b.token); err == nil && !valid {
				c.end(byeRevoked)
			}
			_ = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.cfg.Patience)) // one that has left is found out by reading
		}
	}
	if g := c.bye(); g != nil {
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(g.code, g.text), time.Now().Add(farewell))
		_ = ws.SetReadDeadline(time.Now().Add(farewell))
		for { // the client's goodbye, so that the end does not overtake ours
			if _, _, err := ws.NextReader(); err != nil {
				break
			}
		}
	}
	<-c.done
}
