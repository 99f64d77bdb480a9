package answer

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/valyala/fasthttp"
)

const RequestIDHeader = "X-Request-Id"

// SetRequestID names the request in its answer: as the client named it if that
// name is fit for a log line, else by a new one.
func SetRequestID(ctx *fasthttp.RequestCtx) {
	id := ctx.Request.Header.Peek(RequestIDHeader)
	if SaneID(id) {
		ctx.Response.Header.SetBytesV(RequestIDHeader, id)
		return
	}
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	ctx.Response.Header.Set(RequestIDHeader, hex.EncodeToString(b[:]))
}

// RequestID returns the name that setRequestID gave.
func RequestID(ctx *fasthttp.RequestCtx) string {
	return string(ctx.Response.Header.Peek(RequestIDHeader))
}

func SaneID(id []byte) bool {
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
