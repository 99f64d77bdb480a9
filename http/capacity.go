package http

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"troupe/http/answer"
	"troupe/persistence"
)

// capacity tells accounts how busy the service is, and load balancers, which
// have no token, whether to send the next task here.
func (s *Server) capacity(ctx *fasthttp.RequestCtx) *answer.Refusal {
	ctx.Response.Header.Set(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	if !wantsText(ctx) {
		return s.withAccount(func(ctx *fasthttp.RequestCtx, _ persistence.Account, _ string) *answer.Refusal {
			answer.SendJSON(ctx, fasthttp.StatusOK, s.free())
			return nil
		})(ctx, "")
	}
	status, word := fasthttp.StatusOK, "available\n"
	switch now := s.free(); {
	case now.Draining:
		status, word = fasthttp.StatusServiceUnavailable, "draining\n"
	case !now.Available:
		status, word = fasthttp.StatusServiceUnavailable, "busy\n"
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	ctx.SetBodyString(word)
	return nil
}

// wantsText reports whether the client reads only the status. Many load balancers can
// be configured with an address, but not with a header.
func wantsText(ctx *fasthttp.RequestCtx) bool {
	return string(ctx.QueryArgs().Peek("format")) == "text" ||
		bytes.HasPrefix(bytes.ToLower(ctx.Request.Header.Peek(fasthttp.HeaderAccept)), []byte("text/plain"))
}

func (s *Server) free() answer.Capacity { return answer.CapacityOf(s.Status()) }
