package http

import (
	"mime"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/answer"
)

// expectation is the header of a client that waits for a word before it sends a
// body.
const expectation = "100-continue"

// formPaths are where a body may be a form.
var formPaths = []string{"/v1", "/v1/", "/v1/execute", "/v1/validate"}

// profilePath is what the paths of profiles begin with.
const profilePath = "/v1/profiles/"

// headersRead looks at a request before anything of its body is waited for. A body
// that announces more than any may have is treated as one whose client asks first:
// otherwise the answer would have to wait for its first bytes.
func (s *Server) headersRead(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	path, _, _ := strings.Cut(string(h.RequestURI()), "?")
	if tooLong(h, path) != nil || strings.EqualFold(string(h.Peek(fasthttp.HeaderExpect)), expectation) {
		h.Set(fasthttp.HeaderExpect, expectation)
	}
	return c
}

// mostJSON is how large a body of JSON may be at a path.
func mostJSON(path string) int {
	if path == ticketsPath || path == linksPath || strings.HasPrefix(path, operatorPath) {
		return maxJSONBody
	}
	if strings.HasPrefix(path, profilePath) {
		return engine.MaxProfile
	}
	return maxPayload
}

// tooLong refuses a body by the length that it announces.
func tooLong(h *fasthttp.RequestHeader, path string) *answer.Refusal {
	kind, _, _ := strings.Cut(string(h.ContentType()), ";")
	switch n := h.ContentLength(); {
	case n > mostJSON(path) && strings.EqualFold(strings.TrimSpace(kind), "application/json"):
		return tooLarge("The body", mostJSON(path))
	case inLines(h) && path == batchesPath: // of any length
	case n > maxRequest:
		return tooLarge("The request", maxRequest)
	}
	return nil
}

// inLines reports whether a body is JSON in lines.
func inLines(h *fasthttp.RequestHeader) bool {
	kind, _, err := mime.ParseMediaType(string(h.ContentType()))
	return err == nil && slices.Contains(ndjson, kind)
}

// expects answers a client that asks before it sends a body: with the refusal where
// there is one, else it may go on. fasthttp sends the response that was made here
// when the status is another than 100, and closes the connection.
func (s *Server) expects(ctx *fasthttp.RequestCtx) int {
	answer.SetRequestID(ctx)
	no := s.beforeBody(ctx)
	if no == nil {
		return fasthttp.StatusContinue
	}
	s.turnAway(ctx, no)
	ctx.SetConnectionClose()
	if c := connOf(ctx.Conn()); c != nil {
		c.serving.Store(true)
		c.linger.Store(true)
	}
	return ctx.Response.StatusCode()
}

// beforeBody finds why a request is refused whatever its body is, in the order in
// which its handler would.
func (s *Server) beforeBody(ctx *fasthttp.RequestCtx) *answer.Refusal {
	if no := ambiguous(ctx); no != nil {
		return no
	}
	if no, answered := s.foreign(ctx); no != nil || answered {
		return no
	}
	path := pathOf(ctx)
	routes, _ := s.router.find(path)
	i := slices.IndexFunc(routes, func(w route) bool { return w.method == string(ctx.Method()) })
	if i < 0 {
		if long := tooLong(&ctx.Request.Header, path); long != nil {
			return long
		}
		return nil // no body is read there
	}
	if e := routes[i].entry; e != entryToken && e != entryOperator {
		return tooLong(&ctx.Request.Header, path)
	}
	account, _, no := s.control.Account(ctx)
	if no != nil {
		return no
	}
	if routes[i].entry == entryOperator && !account.Operator {
		return answer.Refuse(answer.CodeOperatorOnly)
	}
	if no := tooLong(&ctx.Request.Header, path); no != nil || routes[i].method != fasthttp.MethodPost {
		return no
	}
	if path == batchesPath {
		if no := s.hasBatches(account); no != nil || inLines(&ctx.Request.Header) {
			return no
		}
	}
	boundary, no := contentOf(ctx, slices.Contains(formPaths, path))
	if no != nil || boundary == "" {
		return no
	}
	held, err := s.cfg.Ledger.Hold(account.ID, s.within(account), int64(max(ctx.Request.Header.ContentLength(), 0)), 0)
	if held.Release(); err != nil {
		return answer.RefuseBy(api.RefusalFor(err))
	}
	return nil
}
