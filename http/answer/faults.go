package answer

import (
	"context"
	"errors"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
)

// Faults answers requests that could not be carried out because something failed.
type Faults struct {
	Log      zerolog.Logger
	Base     context.Context // of every request
	Stopping func() bool     // the service stops for good
}

// Refuse makes the answer to what could not be done. It logs a fault of this
// service or of another node, and not that a client or the service leaves.
func (f *Faults) Refuse(ctx *fasthttp.RequestCtx, doing string, err error) *Refusal {
	switch {
	case f.Stopping() || errors.Is(err, engine.ErrDraining) || errors.Is(context.Cause(f.Base), engine.ErrDraining):
		return Refuse(engine.CodeDraining)
	case errors.Is(err, engine.ErrClientGone):
		ctx.SetConnectionClose()
		return Refuse(engine.CodeCancelled) // which reaches nobody
	}
	var asked *api.Refusal
	if errors.As(err, &asked) && (asked.Code == engine.CodeTooManyWaiting || asked.Code == engine.CodeRateLimited || asked.Code == engine.CodeSiteNotAllowed || asked.Code == engine.CodeCancelled) { // nothing has failed
		return RefuseBy(asked)
	}
	f.Log.Error().Str("request", RequestID(ctx)).Err(err).Msg("failed to " + doing)
	if no := api.RefusalFor(err); no.Code != engine.CodeInternal {
		return RefuseBy(no)
	}
	return Refuse(engine.CodeInternal) // whose text says where to look
}
