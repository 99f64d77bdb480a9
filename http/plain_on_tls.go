package http

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
)

// tlsListener puts TLS on connections.
type tlsListener struct {
	net.Listener
	s *Server
}

// Accept is part of [net.Listener].
func (l *tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{Conn: tls.Server(c, l.s.cfg.TLS), s: l.s}, nil
}

// tlsConn is a connection with TLS. A client that speaks plain HTTP on it gets a sentence
// that it can read, instead of an end without a word.
type tlsConn struct {
	*tls.Conn
	s    *Server
	once sync.Once
}

// Handshake is called before the first request is read.
func (c *tlsConn) Handshake() error {
	err := c.Conn.Handshake()
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && looksLikeHTTP(record.RecordHeader) {
		c.once.Do(func() { c.s.answerPlain(record.Conn) })
	}
	return err
}

// looksLikeHTTP reports whether the first five bytes of a client begin a request.
func looksLikeHTTP(b [5]byte) bool {
	switch string(b[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE":
		return true
	}
	return false
}

// answerPlain tells a client of plain HTTP that TLS is spoken here.
func (s *Server) answerPlain(c net.Conn) {
	var ctx fasthttp.RequestCtx
	ctx.Init2(c, &s.cfg.Log, false)
	answer.SetRequestID(&ctx)
	ctx.SetConnectionClose()
	s.turnAway(&ctx, answer.RefuseText(engine.CodeInvalidRequest, "The request came as plain HTTP, and this port speaks TLS: use https:// instead of http://"))
	if own := connOf(c); own != nil {
		own.linger.Store(true)
	}
	_ = c.SetWriteDeadline(time.Now().Add(plainAnswerTime))
	_, _ = fmt.Fprint(c, ctx.Response.String())
}

// plainAnswerTime is how long a client of plain HTTP may take for its answer.
const plainAnswerTime = time.Second
