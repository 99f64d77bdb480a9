package http

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/documents"
	"troupe/http/live"
	"troupe/persistence"
)

// feedPath is where an account hears of all that happens in it.
const feedPath = "/v1/events"

// livePath is where pictures of browsers are, each under what it shows.
const livePath = "/v1/live/"

// ticketsPath is where tickets are made, and revoked below it.
const ticketsPath = "/v1/tickets"

// linksPath is where links are made and listed, and revoked below it.
const linksPath = "/v1/links"

// way is one method of one address: who may come there, and what is done for them.
type way struct {
	method, path string // what stands in braces is a name, up to the rest of the path
	entry        entry
	handle       func(ctx *fasthttp.RequestCtx, name string) *answer.Refusal
}

// entry is what whoever comes has to show. A way's own code is reached by nobody
// else: each is made with one of the functions below.
type entry string

const (
	entryOpen     entry = "nothing"
	entryToken    entry = "a token"
	entryPass     entry = "a token or a ticket"
	entryOperator entry = "an operator's token"
)

// open is a way for everybody. TestEveryWayAsksWhoComes has the list of those
// that there may be.
func open(method, path string, h func(*fasthttp.RequestCtx, string) *answer.Refusal) way {
	return way{method, path, entryOpen, h}
}

// known is a way for who has the token of an account.
func (s *Server) known(method, path string, h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) way {
	return way{method, path, entryToken, s.withAccount(h)}
}

func (s *Server) withAccount(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, name string) *answer.Refusal {
		account, _, no := s.control.Account(ctx)
		if no != nil {
			return no
		}
		return h(ctx, account, name)
	}
}

// operators is a way for who has the token of an operator's account.
func (s *Server) operators(method, path string, h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) way {
	return way{method, path, entryOperator, s.withAccount(func(ctx *fasthttp.RequestCtx, a persistence.Account, name string) *answer.Refusal {
		if !a.Operator {
			return answer.Refuse(answer.CodeOperatorOnly)
		}
		return h(ctx, a, name)
	})}
}

// passed is a way for who has the token of an account, or a ticket for what the
// way is about.
func (s *Server) passed(method, path string, object func(name string) string, h func(*fasthttp.RequestCtx, *live.Pass, string) *answer.Refusal) way {
	return way{method, path, entryPass, func(ctx *fasthttp.RequestCtx, name string) *answer.Refusal {
		p, no := s.passes.Pass(ctx, object(name))
		if no != nil {
			return no
		}
		return h(ctx, p, name)
	}}
}

// alone lets a handler do without a name.
func alone(h func(*fasthttp.RequestCtx, persistence.Account) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, a persistence.Account, _ string) *answer.Refusal { return h(ctx, a) }
}

// withOrder reads the body, which is JSON, before the handler.
func (s *Server) withOrder(h func(*fasthttp.RequestCtx, persistence.Account, []byte) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, a persistence.Account, _ string) *answer.Refusal {
		b, no := s.readOrder(ctx)
		if no != nil {
			return no
		}
		return h(ctx, a, b.payload)
	}
}

func nameless(h handler) func(*fasthttp.RequestCtx, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, _ string) *answer.Refusal { return h(ctx) }
}

// ways are all there are. Where two fit the first one counts.
func (s *Server) ways() []way {
	itself := func(name string) string { return name }
	return []way{
		s.known("POST", "/v1", alone(s.execute)),
		s.known("POST", "/v1/", alone(s.execute)),
		s.known("POST", "/v1/execute", alone(s.execute)),
		s.known("POST", "/v1/validate", alone(s.validate)),
		s.known("GET", "/v1/workers", alone(s.workers)),
		s.known("GET", "/v1/get-result", alone(s.result)),
		s.known("GET", "/v1/tasks", alone(s.recent)),
		s.passed("GET", tasksPath+"{taskId}/events", itself, s.streams.Events),
		s.known("GET", tasksPath+"{taskId}", ofTask(s.recentTask)),
		s.known("DELETE", tasksPath+"{taskId}", ofTask(s.cancel)),
		s.passed("GET", feedPath, func(string) string { return live.AccountObject }, func(ctx *fasthttp.RequestCtx, p *live.Pass, _ string) *answer.Refusal {
			return s.streams.Feed(ctx, p)
		}),
		s.passed("GET", livePath+"{object}", itself, s.streams.Watch),
		s.known("POST", ticketsPath, s.withOrder(s.passes.IssueTicket)),
		s.known("DELETE", ticketsPath+"/{id}", s.passes.Revokes(live.Ticket)),
		s.known("GET", linksPath, alone(s.passes.ListLinks)),
		s.known("POST", linksPath, s.withOrder(s.passes.IssueLink)),
		s.known("DELETE", linksPath+"/{id}", s.passes.Revokes(live.Link)),
		s.known("GET", "/v1/usage", alone(s.usage)),
		s.known("GET", "/v1/tokens", alone(s.listOwnTokens)),
		s.known("GET", "/v1/cluster", alone(s.cluster)),
		s.operators("POST", operatorPath+"{order}", s.carryOut),

		open("GET", "/v1/capacity", nameless(s.capacity)), // only as text
		open("GET", filesPath+"{file}", s.file),           // the name is the key
		open("GET", "/", nameless(s.page("index.html"))),
		open("GET", "/live", nameless(s.page("live.html"))),
		open("GET", assetsPath+"{name}", s.asset),
		open("GET", "/openapi.json", nameless(s.openapi)),
		open("GET", "/docs", nameless(s.operations)),
		open("GET", docsPath+documents.SearchPath, nameless(s.searchDocs)),
		open("GET", docsPath+"{page}", s.docs),
		open("GET", "/healthz", nameless(s.health)),
		open("GET", "/readyz", nameless(s.ready)),
	}
}

// signpost finds ways.
type signpost struct {
	exact map[string][]way
	named []crossing
}

// crossing is where the ways of one path with a name in it part.
type crossing struct {
	path, before, after string
	ways                []way
}

func newSignpost(all []way) *signpost {
	p := &signpost{exact: map[string][]way{}}
	for _, w := range all {
		before, rest, has := strings.Cut(w.path, "{")
		if !has {
			p.exact[w.path] = append(p.exact[w.path], w)
			continue
		}
		_, after, _ := strings.Cut(rest, "}")
		at := slices.IndexFunc(p.named, func(c crossing) bool { return c.path == w.path })
		if at < 0 {
			at = len(p.named)
			p.named = append(p.named, crossing{path: w.path, before: before, after: after})
		}
		p.named[at].ways = append(p.named[at].ways, w)
	}
	return p
}

// find gives the ways at a path, and the name in it.
func (p *signpost) find(path string) (ways []way, name string) {
	if ways, ok := p.exact[path]; ok {
		return ways, ""
	}
	for _, c := range p.named {
		if rest, ok := strings.CutPrefix(path, c.before); ok {
			if name, ok := strings.CutSuffix(rest, c.after); ok {
				return c.ways, name
			}
		}
	}
	return nil, ""
}

// route finds the handler of a request. Who may GET may also HEAD.
func (s *Server) route(ctx *fasthttp.RequestCtx) handler {
	ways, name := s.signpost.find(string(ctx.Path()))
	if ways == nil {
		return func(*fasthttp.RequestCtx) *answer.Refusal { return answer.Refuse(engine.CodeNotFound) }
	}
	var allow []string
	for _, w := range ways {
		if string(ctx.Method()) == w.method || w.method == "GET" && ctx.IsHead() {
			return func(ctx *fasthttp.RequestCtx) *answer.Refusal { return w.handle(ctx, name) }
		}
		if allow = append(allow, w.method); w.method == "GET" {
			allow = append(allow, "HEAD")
		}
	}
	return func(ctx *fasthttp.RequestCtx) *answer.Refusal {
		methods := strings.Join(allow, ", ")
		ctx.Response.Header.Set(fasthttp.HeaderAllow, methods)
		return answer.RefuseText(engine.CodeMethodNotAllowed, "The method is not allowed here: use "+methods)
	}
}
