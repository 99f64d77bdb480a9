package browser

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"golang.org/x/net/publicsuffix"

	"troupe/engine/host"
)

// RequestRules say what becomes of the requests of a context's pages and workers, before
// anything of them leaves the machine.
type RequestRules struct {
	Types       []string                // kinds that are blocked, such as image: see RequestKinds
	ThirdParty  []string                // kinds that are blocked on other sites than the page's
	URLs        []func(url string) bool // addresses that are blocked
	Mocks       []Mock                  // the first that matches answers
	Headers     map[string][]Header     // added to requests to an origin
	Credentials map[string]Login        // for an origin that asks for them
}

// Mock is the answer to the requests that it matches.
type Mock struct {
	Match  func(url string) bool
	Status int
	Header []Header
	Body   []byte
}

// Header is a line of a request or of an answer.
type Header struct{ Name, Value string }

// Login is what a server asks for.
type Login struct{ Username, Password string }

// RequestKinds are the kinds of requests that rules can name, with the browser's names. The
// browser does not tell apart how a script requests something.
var RequestKinds = map[string][]network.ResourceType{
	"document": {network.ResourceTypeDocument}, "stylesheet": {network.ResourceTypeStylesheet}, "image": {network.ResourceTypeImage},
	"media": {network.ResourceTypeMedia}, "font": {network.ResourceTypeFont}, "script": {network.ResourceTypeScript},
	"fetch": {network.ResourceTypeFetch, network.ResourceTypeXHR}, "ping": {network.ResourceTypePing}, "other": {network.ResourceTypeOther},
}

// SetRules gives the requests of the context's pages and workers these rules in place of
// those that they had.
func (c *Context) SetRules(ctx context.Context, rules *RequestRules) error {
	c.Touch()
	c.mu.Lock()
	before := c.rules
	c.rules = rules
	tabs, workers := slices.Clone(c.tabs), slices.Clone(c.workers)
	c.mu.Unlock()
	c.attends()
	if before != nil && reflect.DeepEqual(before.patterns(), rules.patterns()) && before.answers() == rules.answers() && (len(before.Credentials) > 0) == (len(rules.Credentials) > 0) {
		return nil // what is held is the same
	}
	for _, w := range workers {
		rules.holdWorker(w) // it may have ended
	}
	var sent []*pending
	for _, t := range tabs {
		t.remote.watch()
		sent = append(sent, t.holdRequests()...)
		for _, f := range t.remote.sessions() {
			sent = append(sent, rules.hold(f)...)
		}
	}
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil {
			return fmt.Errorf("holding the requests of pages: %w", err)
		}
	}
	return nil
}

func (c *Context) requestRules() *RequestRules {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules
}

// answers reports whether the rules decide what pages get. Their service workers, which
// would answer for them, are passed by then.
func (r *RequestRules) answers() bool {
	return len(r.Types)+len(r.ThirdParty)+len(r.URLs)+len(r.Mocks) > 0
}

// patterns are the requests of pages that have to be held. Rules for kinds alone leave
// the others to go their way.
func (r *RequestRules) patterns() []*fetch.RequestPattern {
	if len(r.URLs)+len(r.Mocks)+len(r.Headers)+len(r.Credentials) > 0 {
		return []*fetch.RequestPattern{{URLPattern: "*"}}
	}
	kinds := map[network.ResourceType]bool{network.ResourceTypeDocument: true}
	for _, k := range untold {
		kinds[k] = true
	}
	for _, k := range slices.Concat(r.Types, r.ThirdParty) {
		for _, of := range RequestKinds[k] {
			kinds[of] = true
		}
	}
	var all []*fetch.RequestPattern
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, &fetch.RequestPattern{URLPattern: "*", ResourceType: k})
	}
	return all
}

// hold has a process of a page ask before it requests anything that the rules are about.
func (r *RequestRules) hold(s *session) []*pending {
	return []*pending{
		s.send(network.CommandSetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: r.answers()}),
		s.send(fetch.CommandEnable, r.enabled(r.patterns())),
	}
}

// holdWorker is hold for a worker, which does not say what it requests things for.
func (r *RequestRules) holdWorker(s *session) []*pending {
	return []*pending{s.send(fetch.CommandEnable, r.enabled([]*fetch.RequestPattern{{URLPattern: "*"}}))}
}

func (r *RequestRules) enabled(patterns []*fetch.RequestPattern) fetch.EnableParams {
	p := fetch.EnableParams{Patterns: patterns}
	if len(r.Credentials) > 0 {
		yes := true
		p.HandleAuthRequests = &yes
	}
	return p
}

// decide answers a held request by the rules, unless they leave it to itself. The site is
// that of the page; main says that the page itself is requested.
// The tab is nil for workers.
func (r *RequestRules) decide(t *Tab, s *session, e *fetch.EventRequestPaused, page string, main bool) {
	address := e.Request.URL
	if r.blocks(e, page, main) {
		s.send(fetch.CommandFailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
		return
	}
	for i := range r.Mocks {
		if r.Mocks[i].Match(address) {
			answer := r.Mocks[i].answer(e)
			if t != nil {
				t.bodies.gives(network.RequestID(e.NetworkID), answer.Body)
			}
			s.send(fetch.CommandFulfillRequest, answer)
			return
		}
	}
	goOn := fetch.ContinueRequestParams{RequestID: e.RequestID}
	if more := r.Headers[OriginOf(address)]; len(more) > 0 {
		goOn.Headers = withHeaders(e.Request.Headers, more)
	}
	s.send(fetch.CommandContinueRequest, goOn)
}

// blocks reports whether a request goes nowhere.
func (r *RequestRules) blocks(e *fetch.EventRequestPaused, page string, main bool) bool {
	kinds := kindsOf(e)
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(k string) bool {
			return slices.ContainsFunc(RequestKinds[k], func(of network.ResourceType) bool { return slices.Contains(kinds, of) })
		})
	}
	if !main && (named(r.Types) || named(r.ThirdParty) && siteOf(e.Request.URL) != siteOf(page)) {
		return true
	}
	return slices.ContainsFunc(r.URLs, func(match func(string) bool) bool { return match(e.Request.URL) })
}

// untold are the kinds that do not say what a request is for.
var untold = []network.ResourceType{network.ResourceTypeFetch, network.ResourceTypeXHR, network.ResourceTypeOther}

// kindsOf is what a request is for. What a script requests, or a page ahead of time, is
// also what its name says.
func kindsOf(e *fetch.EventRequestPaused) []network.ResourceType {
	kinds := []network.ResourceType{e.ResourceType}
	if slices.Contains(untold, e.ResourceType) {
		if u, err := url.Parse(e.Request.URL); err == nil {
			if k := byExtension[strings.ToLower(path.Ext(u.Path))]; k != "" {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

var byExtension = map[string]network.ResourceType{}

func init() {
	for kind, extensions := range map[network.ResourceType]string{
		network.ResourceTypeImage:      ".png .jpg .jpeg .gif .webp .avif .svg .ico .bmp .apng .jxl",
		network.ResourceTypeFont:       ".woff .woff2 .ttf .otf .eot",
		network.ResourceTypeMedia:      ".mp4 .webm .ogg .ogv .mp3 .m4a .m4v .wav .flac .aac .mov .m3u8 .ts .mpd",
		network.ResourceTypeStylesheet: ".css",
		network.ResourceTypeScript:     ".js .mjs",
	} {
		for _, x := range strings.Fields(extensions) {
			byExtension[x] = kind
		}
	}
}

// siteOf is the registrable domain of an address, or its host where it has none.
func siteOf(address string) string {
	u, err := url.Parse(strings.TrimPrefix(address, "blob:"))
	if err != nil {
		return address
	}
	name := host.Name(u.Hostname())
	if site, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return site
	}
	return name
}

// OriginOf is the origin of an address, without a port that is the usual one.
func OriginOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.ToLower(u.Scheme) + "://" + host.WithPort(u)
}

// withHeaders are the headers of a request with others in their place.
func withHeaders(of network.Headers, more []Header) (all []*fetch.HeaderEntry) {
	for name, v := range of {
		if s, ok := v.(string); ok && !slices.ContainsFunc(more, func(h Header) bool { return strings.EqualFold(h.Name, name) }) {
			all = append(all, &fetch.HeaderEntry{Name: name, Value: s})
		}
	}
	for _, h := range more {
		all = append(all, &fetch.HeaderEntry{Name: h.Name, Value: h.Value})
	}
	return all
}

// answer is the answer of the mock to a request. Pages of other origins may read it, as
// they may read the answers of most interfaces, unless its headers say otherwise.
func (m *Mock) answer(e *fetch.EventRequestPaused) fetch.FulfillRequestParams {
	p := fetch.FulfillRequestParams{RequestID: e.RequestID, ResponseCode: int64(m.Status), Body: m.Body}
	for _, h := range m.Header {
		p.ResponseHeaders = append(p.ResponseHeaders, &fetch.HeaderEntry{Name: h.Name, Value: h.Value})
	}
	add := func(name, value string) {
		if value != "" && !slices.ContainsFunc(m.Header, func(h Header) bool { return strings.EqualFold(h.Name, name) }) {
			p.ResponseHeaders = append(p.ResponseHeaders, &fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	asked := func(name string) string {
		for n, v := range e.Request.Headers {
			if s, ok := v.(string); ok && strings.EqualFold(n, name) {
				return s
			}
		}
		return ""
	}
	if origin := asked("Origin"); origin != "" {
		add("Access-Control-Allow-Origin", origin)
		add("Access-Control-Allow-Credentials", "true")
	}
	if method := asked("Access-Control-Request-Method"); e.Request.Method == http.MethodOptions && method != "" {
		p.ResponseCode, p.Body = http.StatusNoContent, nil
		add("Access-Control-Allow-Methods", method)
		add("Access-Control-Allow-Headers", asked("Access-Control-Request-Headers"))
	}
	return p
}

// login answers a server that asks for a name and a password, once.
func (c *Context) login(s *session, params jsonv2.Value) {
	var e fetch.EventAuthRequired
	if !decode(params, &e) || e.AuthChallenge == nil {
		c.unread.login(s, params)
		return
	}
	answer := fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseDefault}
	if r := c.requestRules(); r != nil && e.AuthChallenge.Source != fetch.AuthChallengeSourceProxy {
		if l, ok := r.Credentials[OriginOf(e.AuthChallenge.Origin)]; ok {
			answer.Response = fetch.AuthChallengeResponseResponseCancelAuth
			if c.tries(s, e.RequestID) {
				answer = fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: l.Username, Password: l.Password}
			}
		}
	}
	s.send(fetch.CommandContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: &answer})
}

// maxTried bounds the requests that are remembered for having been given a login.
const maxTried = 1000

// tries reports whether a request was given no login so far: one that is wrong stays
// wrong.
func (c *Context) tries(s *session, id fetch.RequestID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := string(s.id) + " " + string(id)
	if slices.Contains(c.tried, k) {
		return false
	}
	if len(c.tried) >= maxTried {
		c.tried = c.tried[1:]
	}
	c.tried = append(c.tried, k)
	return true
}
