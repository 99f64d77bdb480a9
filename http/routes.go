package http

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/address"
	"troupe/http/answer"
	"troupe/http/documents"
	"troupe/http/live"
	"troupe/http/mcp"
	"troupe/persistence"
)

// feedPath is the stream of all events of an account.
const feedPath = "/v1/events"

// livePath is the prefix of live pictures, each under the object that it shows.
const livePath = "/v1/live/"

// validatePath is where tasks are checked.
const validatePath = "/v1/validate"

// ticketsPath is where tickets are issued, and revoked below it.
const ticketsPath = "/v1/tickets"

// linksPath is where links are issued and listed, and revoked below it.
const linksPath = "/v1/links"

// route is one method at one path: what a request must show, and the handler that answers it.
type route struct {
	method, path string // the part in braces is a name
	entry        entry
	handle       func(ctx *fasthttp.RequestCtx, name string) *answer.Refusal
	reads        []string // request headers beside those that follow from the method and the entry, see [route.headers]
}

// reading says which other headers of a request the handler reads, so that pages of
// allowed origins may send them.
func (r route) reading(headers ...string) route {
	r.reads = append(slices.Clone(r.reads), headers...)
	return r
}

// headers are those of a request that the route reads, and that a page may only send
// where an answer has allowed it.
func (r route) headers() []string {
	all := []string{answer.RequestIDHeader}
	if r.entry != entryOpen {
		all = append(all, fasthttp.HeaderAuthorization)
	}
	if r.method == fasthttp.MethodPost || r.method == fasthttp.MethodPut {
		all = append(all, fasthttp.HeaderContentType)
	}
	return append(all, r.reads...)
}

// entry is what a request must show. Each route is made by one of the functions
// below, so that no handler runs without this check.
type entry string

const (
	entryOpen       entry = "nothing"
	entryToken      entry = "a token"
	entryCredential entry = "a token or a ticket"
	entryOperator   entry = "an operator's token"
)

// openRoute is a route that needs no authentication. TestEveryRouteAuthenticates
// lists the permitted ones.
func openRoute(method, path string, h func(*fasthttp.RequestCtx, string) *answer.Refusal) route {
	return route{method: method, path: path, entry: entryOpen, handle: h}
}

// tokenRoute is a route that needs the token of an account.
func (s *Server) tokenRoute(method, path string, h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) route {
	return route{method: method, path: path, entry: entryToken, handle: s.withAccount(h)}
}

func (s *Server) withAccount(h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, name string) *answer.Refusal {
		account, token, no := s.control.Account(ctx)
		if no != nil {
			return no
		}
		ctx.SetUserValue(accountKey{}, account.ID)
		ctx.SetUserValue(tokenKey{}, token)
		return h(ctx, account, name)
	}
}

// operatorRoute is a route that needs the token of an operator's account.
func (s *Server) operatorRoute(method, path string, h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) route {
	return route{method: method, path: path, entry: entryOperator, handle: s.withAccount(func(ctx *fasthttp.RequestCtx, a persistence.Account, name string) *answer.Refusal {
		if !a.Operator {
			return answer.Refuse(answer.CodeOperatorOnly)
		}
		return h(ctx, a, name)
	})}
}

// credentialRoute is a route that needs the token of an account, or a ticket for
// the object that the path names.
func (s *Server) credentialRoute(method, path string, object func(name string) string, h func(*fasthttp.RequestCtx, *live.Credential, string) *answer.Refusal) route {
	return route{method: method, path: path, entry: entryCredential, handle: func(ctx *fasthttp.RequestCtx, name string) *answer.Refusal {
		p, no := s.authorizer.Authorize(ctx, object(name))
		if no != nil {
			return no
		}
		return h(ctx, p, name)
	}}
}

// withoutName lets a handler do without a name.
func withoutName(h func(*fasthttp.RequestCtx, persistence.Account) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, a persistence.Account, _ string) *answer.Refusal { return h(ctx, a) }
}

func ignoreName(h handler) func(*fasthttp.RequestCtx, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, _ string) *answer.Refusal { return h(ctx) }
}

// routes lists all routes. Where two match, the first one is used.
func (s *Server) routes() []route {
	web := website{address: s.cfg.Address, faults: &s.faults}
	itself := func(name string) string { return name }
	return append(slices.Concat(s.batchRoutes(), s.noticeRoutes(), s.scheduleRoutes(), s.sessionRoutes(), s.runRoutes()), []route{
		s.tokenRoute("POST", "/v1", withoutName(s.execute)).reading(keyHeader, traceHeader),
		s.tokenRoute("POST", "/v1/", withoutName(s.execute)).reading(keyHeader, traceHeader),
		s.tokenRoute("POST", "/v1/execute", withoutName(s.execute)).reading(keyHeader, traceHeader),
		s.tokenRoute("POST", validatePath, withoutName(s.validate)),
		s.tokenRoute("GET", "/v1/workers", wholeList(s.workers)),
		s.tokenRoute("GET", "/v1/get-result", withoutName(s.result)),
		s.tokenRoute("GET", "/v1/tasks", s.loading(withoutName(s.recent))),
		s.credentialRoute("GET", tasksPath+"{taskId}/events", itself, s.streams.Events).reading(live.LastEventHeader),
		s.callRoute(tasksPath+"{taskId}/retry", byName(s.sendAgain), s.sentAgain),
		s.tokenRoute("GET", tasksPath+"{taskId}", s.loading(ofTask(s.recentTask))),
		s.tokenRoute("DELETE", tasksPath+"{taskId}", ofTask(s.cancel)),
		s.credentialRoute("GET", feedPath, func(string) string { return live.AccountObject }, func(ctx *fasthttp.RequestCtx, p *live.Credential, _ string) *answer.Refusal {
			return s.streams.Feed(ctx, p)
		}).reading(live.LastEventHeader),
		s.credentialRoute("GET", livePath+"{object}", itself, s.streams.Screencast),
		s.callRoute(ticketsPath, withBody(s.authorizer.IssueTicket), s.stillAlive(live.Ticket)),
		s.tokenRoute("DELETE", ticketsPath+"/{id}", s.authorizer.Revokes(live.Ticket)),
		s.tokenRoute("GET", linksPath, wholeList(s.authorizer.ListLinks)),
		s.callRoute(linksPath, withBody(s.authorizer.IssueLink), s.stillAlive(live.Link)),
		s.tokenRoute("DELETE", linksPath+"/{id}", s.authorizer.Revokes(live.Link)),
		s.tokenRoute("GET", "/v1/flows", s.loading(wholeList(s.listFlows))),
		s.tokenRoute("GET", "/v1/flows/{name}", s.loading(s.getFlow)),
		s.tokenRoute("PUT", "/v1/flows/{name}", withinSites(s.mayFlow, s.putFlow)),
		s.tokenRoute("DELETE", "/v1/flows/{name}", withinSites(s.mayFlow, s.deleteFlow)),
		s.tokenRoute("GET", "/v1/profiles", s.loading(wholeList(s.listProfiles))),
		s.tokenRoute("GET", "/v1/profiles/{name}", s.loading(s.getProfile)),
		s.tokenRoute("PUT", "/v1/profiles/{name}", withinSites(s.mayProfile, s.putProfile)),
		s.tokenRoute("DELETE", "/v1/profiles/{name}", withinSites(s.mayProfile, s.deleteProfile)),
		s.tokenRoute("GET", "/v1/usage", withoutName(s.usage)).reading(fasthttp.HeaderAccept),
		s.tokenRoute("GET", "/v1/tokens", wholeList(s.listOwnTokens)),
		s.tokenRoute("GET", "/v1/cluster", withoutName(s.cluster)),
		s.operatorRoute("POST", operatorPath+"{order}", s.runCommand).reading(keyHeader),

		s.tokenRoute("POST", mcpPath, withoutName(s.mcp)).reading(mcp.RequestHeaders...),

		openRoute("GET", "/v1/capacity", ignoreName(s.capacity)),                   // only as text
		openRoute("GET", filesPath+"{file}", s.file).reading(fasthttp.HeaderRange), // the name is the key
		openRoute("GET", "/", ignoreName(page("index.html"))),
		openRoute("GET", "/live", ignoreName(page("live.html"))),
		openRoute("GET", assetsPath+"{name}", sendAssetNamed).reading(fasthttp.HeaderIfNoneMatch),
		openRoute("GET", "/openapi.json", ignoreName(sendOpenAPI)),
		openRoute("GET", llmsPath, ignoreName(web.llms)),
		openRoute("GET", "/docs", ignoreName(sendOperations)).reading(fasthttp.HeaderIfNoneMatch),
		openRoute("GET", docsPath+documents.SearchPath, ignoreName(web.searchDocs)),
		openRoute("GET", docsPath+"{page}", web.docs),
		openRoute("GET", "/healthz", ignoreName(s.health)),
		openRoute("GET", "/readyz", ignoreName(s.ready)),
	}...)
}

// router finds the routes of a path.
type router struct {
	exact    map[string][]route
	patterns []pattern
}

// pattern is a path with a name in it, and its routes.
type pattern struct {
	path, before, after string
	routes              []route
}

func newRouter(all []route) *router {
	p := &router{exact: map[string][]route{}}
	for _, w := range all {
		before, rest, has := strings.Cut(w.path, "{")
		if !has {
			p.exact[w.path] = append(p.exact[w.path], w)
			continue
		}
		_, after, _ := strings.Cut(rest, "}")
		at := slices.IndexFunc(p.patterns, func(c pattern) bool { return c.path == w.path })
		if at < 0 {
			at = len(p.patterns)
			p.patterns = append(p.patterns, pattern{path: w.path, before: before, after: after})
		}
		p.patterns[at].routes = append(p.patterns[at].routes, w)
	}
	return p
}

// pathOf is the path of a request; empty, where nothing is, if it changes by normalising: a
// proxy that decides by paths what may pass might have read it otherwise.
func pathOf(ctx *fasthttp.RequestCtx) string {
	if !address.Settled(string(ctx.URI().PathOriginal())) {
		return ""
	}
	return string(ctx.Path())
}

// find returns the routes at a path, and the name in it.
func (p *router) find(path string) (routes []route, name string) {
	if routes, ok := p.exact[path]; ok {
		return routes, ""
	}
	for _, c := range p.patterns {
		if rest, ok := strings.CutPrefix(path, c.before); ok {
			if name, ok := strings.CutSuffix(rest, c.after); ok {
				return c.routes, name
			}
		}
	}
	return nil, ""
}

// preflight is what a browser may send to a path, which asks before it sends a method.
// Where nothing is, it may send what any route takes: then it gets the 404.
func (p *router) preflight(path, method string) (methods, headers []string) {
	routes, _ := p.find(path)
	if routes == nil {
		return []string{fasthttp.MethodGet, fasthttp.MethodHead, fasthttp.MethodPost, fasthttp.MethodPut, fasthttp.MethodDelete},
			route{method: fasthttp.MethodPost, entry: entryToken}.headers()
	}
	for _, w := range routes {
		methods = append(methods, w.method)
		if w.method == fasthttp.MethodGet {
			methods = append(methods, fasthttp.MethodHead)
		}
		if w.method == method || w.method == fasthttp.MethodGet && method == fasthttp.MethodHead {
			headers = w.headers()
		}
	}
	return methods, headers
}

// handlerFor finds the handler of a request. A route for GET also answers HEAD.
func (s *Server) handlerFor(ctx *fasthttp.RequestCtx) handler {
	routes, name := s.router.find(pathOf(ctx))
	if routes == nil {
		return func(*fasthttp.RequestCtx) *answer.Refusal { return answer.Refuse(engine.CodeNotFound) }
	}
	var allow []string
	for _, w := range routes {
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
