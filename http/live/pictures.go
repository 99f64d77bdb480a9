package live

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"troupe/actors/view"
	"troupe/engine"
	"troupe/http/access"
	"troupe/http/admin"
	"troupe/http/answer"
	"troupe/persistence"
)

// maxViewers is how many live pictures an account may have open at once.
const maxViewers = 20

// Stats counts viewers, pictures and feeds.
type Stats struct {
	Viewers  int   // sockets with live pictures
	Pictures int64 // sent
	Bytes    int64 // of those
	Slow     int64 // viewers that were cut off
	Feeds    int   // readers of accounts' feeds
}

// Stats counts viewers, pictures and feeds.
func (s *Streams) Stats() Stats {
	n := &s.shown
	return Stats{Viewers: s.viewers.Taken(), Pictures: n.pictures.Load(), Bytes: n.bytes.Load(), Slow: n.slow.Load(), Feeds: s.feeds.Taken()}
}

type shownTotals struct{ pictures, bytes, slow atomic.Int64 }

// Times of a socket.
const (
	// takePicture is how long a client may take for one picture.
	takePicture = 10 * time.Second
	// farewell is how long it may take to say goodbye, too.
	farewell = time.Second
	// closeEnded begins the codes that are ours to give: the reason is a word.
	closeEnded = 4000
)

// Reasons for the end of a picture, beside those of the actors.
const (
	endRevoked  = "revoked"
	endExpired  = "expired"
	endDraining = "draining"
	endSlow     = "slow"
)

// liveBegin is the first message of a socket.
type liveBegin struct {
	Type       string `json:"type"` // begin
	WorkerID   string `json:"workerId"`
	WorkerName string `json:"workerName"`
	TaskID     string `json:"taskId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	Width      int    `json:"width"` // that a picture has at most
	Height     int    `json:"height"`
	Rate       int    `json:"rate"` // pictures a second, about
}

// upgrader begins sockets. Access is decided before; see foreign for the origin.
var upgrader = websocket.FastHTTPUpgrader{
	Subprotocols: []string{Protocol}, WriteBufferSize: 4 << 10, ReadBufferSize: 512,
	CheckOrigin: func(*fasthttp.RequestCtx) bool { return true },
}

// Screencast sends live pictures of a browser over a socket, for as long as it has to
// do with the object.
func (s *Streams) Screencast(ctx *fasthttp.RequestCtx, p *Credential, object string) *answer.Refusal {
	switch {
	case s.cfg.Source == nil:
		return answer.Refuse(engine.CodeNotFound)
	case !websocket.FastHTTPIsWebSocketUpgrade(ctx):
		ctx.Response.Header.Set(fasthttp.HeaderUpgrade, "websocket")
		return answer.Refuse(answer.CodeUpgradeRequired)
	case s.cfg.Faults.Stopping():
		return answer.Refuse(engine.CodeDraining)
	}
	leave, no := s.viewers.Take(p.account.ID)
	if no != nil {
		return no
	}
	w, not := s.cfg.Source.OpenScreencast(&view.ScreencastRequest{Account: access.ForActors(p.account), All: p.account.Operator, Object: object})
	if not != nil {
		leave()
		return answer.RefuseBy(not)
	}
	if no := s.auditView(ctx, p, object, w); no != nil {
		w.Close()
		leave()
		return no
	}
	end := func() { w.Close(); leave() }
	// A client that is gone before it has the answer gets no socket, and nobody
	// tells.
	lost := time.AfterFunc(s.cfg.WriteTimeout+farewell, end)
	err := upgrader.Upgrade(ctx, func(c *websocket.Conn) {
		if !lost.Stop() {
			return
		}
		defer end()
		s.show(c, w, p)
	})
	if err != nil {
		lost.Stop()
		end()
		return answer.RefuseText(engine.CodeInvalidRequest, "The request is not a WebSocket handshake: "+err.Error())
	}
	return nil
}

// show sends pictures until there is a reason not to.
func (s *Streams) show(c *websocket.Conn, w *view.Viewer, p *Credential) {
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Faults.Log.Error().Any("panic", v).Msg("a live picture failed")
		}
	}()
	if p.ticket != nil {
		s.authorizer.tickets.addViewers(p.ticket, 1)
		defer s.authorizer.tickets.addViewers(p.ticket, -1)
	}
	patience := min(takePicture, s.cfg.WriteTimeout)
	quiet := 3 * s.cfg.Heartbeat
	c.SetReadLimit(512)
	_ = c.SetReadDeadline(time.Now().Add(quiet))
	c.SetPongHandler(func(string) error { return c.SetReadDeadline(time.Now().Add(quiet)) })
	input := &clientInput{done: make(chan struct{})}
	go func() {
		defer close(input.done)
		_, _, err := c.ReadMessage()
		input.sent = err == nil || errors.Is(err, websocket.ErrReadLimit)
	}()
	if code, why := s.send(c, w, p, patience, input); why != "" {
		_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(farewell))
		_ = c.SetReadDeadline(time.Now().Add(farewell))
		<-input.done // the client's goodbye, so that the end does not overtake ours
	}
	_ = c.Close()
	<-input.done
}

// clientInput says whether a client, which must only read, has sent anything.
type clientInput struct {
	done chan struct{} // closed when it has sent something, or is gone
	sent bool
}

// send sends pictures and returns why it has stopped; nothing where nobody is
// there to read it.
func (s *Streams) send(c *websocket.Conn, w *view.Viewer, p *Credential, patience time.Duration, h *clientInput) (int, string) {
	write := func(kind int, b []byte) error {
		_ = c.SetWriteDeadline(time.Now().Add(patience))
		return c.WriteMessage(kind, b)
	}
	v := view.ScreencastOptions()
	begin := liveBegin{
		Type: "begin", WorkerID: w.Worker, WorkerName: w.WorkerName, TaskID: w.Task, SessionID: w.Session,
		Width: v.Width, Height: v.Height, Rate: int(time.Second / v.Every),
	}
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	if err := c.WriteJSON(begin); err != nil {
		return s.cut(h)
	}
	beat := time.NewTicker(s.cfg.Heartbeat)
	defer beat.Stop()
	expires := p.ends()
	for {
		// The end comes before pictures.
		select {
		case <-w.Done():
			return closeEnded, w.EndReason()
		case <-p.revoked():
			return closeEnded, endRevoked
		default:
		}
		select {
		case picture := <-w.Pictures():
			if err := write(websocket.BinaryMessage, picture); err != nil {
				return s.cut(h)
			}
			s.shown.pictures.Add(1)
			s.shown.bytes.Add(int64(len(picture)))
		case <-w.Done():
			return closeEnded, w.EndReason()
		case <-p.revoked():
			return closeEnded, endRevoked
		case <-expires:
			return closeEnded, endExpired
		case <-s.leaving:
			return closeEnded, endDraining
		case <-h.done:
			if h.sent {
				return websocket.CloseUnsupportedData, "view_only"
			}
			return 0, ""
		case <-beat.C:
			if !s.authorizer.valid(p) {
				return closeEnded, endRevoked
			}
			if err := c.WriteControl(websocket.PingMessage, nil, time.Now().Add(patience)); err != nil {
				return s.cut(h)
			}
		}
	}
}

// Wait waits a moment for the viewers of live pictures to learn that the service
// stops.
func (s *Streams) Wait() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(farewell); s.viewers.Taken() > 0 && time.Now().Before(end); {
		<-tick.C
	}
}

// cut counts a client that does not take what it asked for, unless it has gone.
func (s *Streams) cut(h *clientInput) (int, string) {
	select {
	case <-h.done:
	default:
		s.shown.slow.Add(1)
	}
	return closeEnded, endSlow
}

// auditView writes into the audit log that an operator's account is about to see
// the live picture of another account.
func (s *Streams) auditView(ctx *fasthttp.RequestCtx, p *Credential, object string, w *view.Viewer) *answer.Refusal {
	if !p.account.Operator {
		return nil
	}
	whose := ""
	if t, ok := s.cfg.Source.RecentTask(p.account.ID, true, w.Task); ok {
		if whose = persistence.AccountName(t.Account); t.Account == p.account.ID && object == w.Task {
			return nil
		}
	}
	token := persistence.DigestOf(p.token)
	if p.ticket != nil {
		token = p.ticket.by
	}
	return s.cfg.Admin.AuditView(ctx, admin.Caller{Account: p.account, Token: token, From: s.cfg.Control.ClientText(ctx)}, object, whose)
}
