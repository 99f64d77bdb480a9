package http

import (
	"context"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/http/answer"
)

// ask asks the actors for a client. Their refusal, and a failure while doing, are the answer.
func ask[R any](s *Server, ctx *fasthttp.RequestCtx, waiting context.Context, doing string, m api.Request[R]) (*R, *answer.Refusal) {
	x, err := api.Ask(waiting, s.cfg.Actors, m)
	if err != nil {
		return nil, s.faults.Refuse(ctx, doing, err)
	}
	if r, may := any(x).(interface{ Refused() *api.Refusal }); may && r.Refused() != nil {
		return nil, answer.RefuseBy(r.Refused())
	}
	return x, nil
}
