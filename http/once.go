package http

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/http/live"
	"troupe/persistence"
)

// callHandler carries out a request that runs no task. The body is JSON.
type callHandler func(ctx *fasthttp.RequestCtx, account persistence.Account, name string, payload []byte) *answer.Refusal

// callAnswer is what a request with a key was answered.
type callAnswer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// send answers a repeat with what the first request was answered.
func (c *callAnswer) send(ctx *fasthttp.RequestCtx) *answer.Refusal {
	answer.SendJSON(ctx, c.Status, c.Body)
	return nil
}

// repeated answers a request whose key was carried out before: with what is true now.
type repeated func(ctx *fasthttp.RequestCtx, account persistence.Account, name string, first *callAnswer) *answer.Refusal

// callRoute is a route that carries something out once for each key. A repeat is answered
// by again.
func (s *Server) callRoute(path string, h callHandler, again repeated) route {
	return s.tokenRoute(fasthttp.MethodPost, path, s.once(h, again)).reading(keyHeader)
}

// once reads the body, which is JSON: a page of another site cannot send that. Of the
// requests with one key and one content only one is carried out. The actors keep its
// answer, as they do for tasks.
func (s *Server) once(h callHandler, again repeated) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
		key, fault := keyOf(ctx)
		b, no := s.bodies.readJSONBody(ctx, account.ID)
		defer b.remove()
		switch {
		case no != nil:
			return no
		case fault != nil:
			return answer.RefuseInvalid(*fault)
		case key == "":
			return h(ctx, account, name, b.payload)
		}
		owner := access.ForActors(account)
		begun, no := ask(s, ctx, s.base, "look for a key", &api.BeginCall{
			Account: owner, Idempotency: api.Idempotency{Key: key, Digest: callDigest(string(ctx.Path()), b.payload)},
		})
		switch {
		case no != nil:
			return no
		case begun.Run == "":
			first := &callAnswer{}
			if err := json.Unmarshal(begun.Answer, first); err != nil {
				return s.faults.Refuse(ctx, "read the answer to a key", err)
			}
			return again(ctx, account, name, first)
		}
		end := &api.EndCall{Account: owner, Key: key, Run: begun.Run}
		defer func() { // also after a panic: others may wait
			if _, err := api.Ask(s.base, s.cfg.Actors, end); err != nil {
				s.cfg.Log.Error().Err(err).Str("request", answer.RequestID(ctx)).Msg("the answer to a key is not kept")
			}
		}()
		if no := h(ctx, account, name, b.payload); no != nil {
			return no
		}
		var err error
		end.Answer, err = json.Marshal(callAnswer{ctx.Response.StatusCode(), ctx.Response.Body()})
		if err != nil {
			return s.faults.Refuse(ctx, "keep the answer to a key", err)
		}
		return nil
	}
}

// callDigest stands for the content of a request: where it goes, and what its body means.
func callDigest(path string, payload []byte) []byte {
	sum, err := digest(payload, nil)
	if err != nil { // it is no JSON, or empty
		sum = payload
	}
	all := sha256.Sum256(append([]byte(path+"\x00"), sum...))
	return all[:]
}

// asItIs answers a repeat like a request that only looks.
func asItIs(look func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) repeated {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, name string, _ *callAnswer) *answer.Refusal {
		return look(ctx, account, name)
	}
}

// byName is a handler that needs no body.
func byName(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) callHandler {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, name string, _ []byte) *answer.Refusal {
		return h(ctx, account, name)
	}
}

// withBody is a handler that needs no name.
func withBody(h func(*fasthttp.RequestCtx, persistence.Account, []byte) *answer.Refusal) callHandler {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, _ string, payload []byte) *answer.Refusal {
		return h(ctx, account, payload)
	}
}

// goneSince refuses a repeat whose first request has made what is there no more.
func goneSince(what string) *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, "The "+what+" of this "+keyHeader+" is not there any more: to make another one, send another key")
}

// stillAlive answers a repeat with the ticket that the first request has made.
func (s *Server) stillAlive(k *live.Kind) repeated {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, _ string, first *callAnswer) *answer.Refusal {
		var made struct{ ID, Ticket, Link string }
		err := json.Unmarshal(first.Body, &made)
		alive := false
		if err == nil {
			alive, err = s.authorizer.Alive(account.ID, made.Ticket+made.Link)
		}
		switch {
		case err != nil:
			return s.faults.Refuse(ctx, "look for the ticket of a key", err)
		case !alive:
			return goneSince(k.Name())
		}
		return first.send(ctx)
	}
}
