package http

import (
	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/persistence"
)

// What a request carries on its way to a handler.
type (
	tokenKey struct{} // the token that it came with
	againKey struct{} // the run that it repeats
)

// sender says who has sent a request for a task.
func sender(ctx *fasthttp.RequestCtx) (by api.Sender) {
	if token, _ := ctx.UserValue(tokenKey{}).(string); token != "" {
		by.Token = persistence.DigestOf(token).TokenID()
	}
	if _, inside := ctx.Conn().(*innerConn); inside {
		by.Origin = api.OriginMCP
	}
	by.Again, _ = ctx.UserValue(againKey{}).(string)
	return by
}
