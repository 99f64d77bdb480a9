package http

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/valyala/fasthttp"
)

const requestIDHeader = "X-Request-Id"

// setRequestID names the request in its answer: as the client named it if that
// name is fit for a log line, else by a new one.
func setRequestID(ctx *fasthttp.RequestCtx) {
	id := ctx.Request.Header.Peek(requestIDHeader)
	if saneID(id) {
		ctx.Response.Header.SetBytesV(requestIDHeader, id)
		return
	}
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	ctx.Response.Header.Set(requestIDHeader, hex.EncodeToString(b[:]))
}

// requestID returns the name that setRequestID gave.
func requestID(ctx *fasthttp.RequestCtx) string {
	return string(ctx.Response.Header.Peek(requestIDHeader))
}

func saneID(id []byte) bool {
	if len(id) == 0 || len(id) > 128 {
		return false
	}
	for _, c := range id {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}
