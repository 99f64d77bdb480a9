package browser

import (
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// unreadRequests are those that were held and could not be read as a whole: the browser says
// more of them than an event may have, or what this package does not know. Pages wait for the
// answer, so each has one at once. It is failed where a rule might have stopped or changed it.
type unreadRequests struct {
	context *Context

	mu     sync.Mutex
	failed int
	let    int
	names  []string // of the first ones
}

// maxUnreadNames bounds how many of them are named.
const maxUnreadNames = 3

// Unread are the requests that could not be read since the last call: how many were failed,
// how many were let go, and the first of their names.
func (c *Context) Unread() (failed, let int, names []string) {
	u := &c.unread
	u.mu.Lock()
	defer u.mu.Unlock()
	failed, let, names = u.failed, u.let, u.names
	u.failed, u.let, u.names = 0, 0, nil
	return failed, let, names
}

// paused reads a held request, or answers it.
func (u *unreadRequests) paused(s *session, params jsonv2.Value, handle func(*fetch.EventRequestPaused)) {
	var e fetch.EventRequestPaused
	if decode(params, &e) && e.Request != nil {
		handle(&e)
		return
	}
	u.answer(s, unreadID(params), "")
}

// unreadID is the name of a request of which nothing else can be read.
func unreadID(params jsonv2.Value) fetch.RequestID {
	var e struct {
		RequestID fetch.RequestID `json:"requestId"`
	}
	decode(params, &e)
	return e.RequestID
}

// answer fails a request that could not be read, if there are rules that it may be about.
func (u *unreadRequests) answer(s *session, id fetch.RequestID, name string) {
	ruled := u.context.requestRules() != nil || u.context.Sites.bounded()
	if ruled {
		s.send(fetch.CommandFailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: network.ErrorReasonBlockedByClient})
	} else {
		s.send(fetch.CommandContinueRequest, fetch.ContinueRequestParams{RequestID: id})
	}
	u.count(ruled, name)
}

func (u *unreadRequests) count(failed bool, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if failed {
		u.failed++
	} else {
		u.let++
	}
	if name != "" && len(u.names) < maxUnreadNames {
		u.names = append(u.names, name)
	}
}

// login answers a question for a login that cannot be read.
func (u *unreadRequests) login(s *session, params jsonv2.Value) {
	answer := fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseDefault}
	if r := u.context.requestRules(); r != nil && len(r.Credentials) > 0 {
		answer.Response = fetch.AuthChallengeResponseResponseCancelAuth
	}
	s.send(fetch.CommandContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: unreadID(params), AuthChallengeResponse: &answer})
	u.count(answer.Response == fetch.AuthChallengeResponseResponseCancelAuth, "")
}

// decide answers a held request by rules, as far as what can be read of it is enough.
func (u *unreadRequests) decide(r *RequestRules, t *Tab, s *session, e *fetch.EventRequestPaused, page string, main bool) {
	if !r.blocks(e, page, main) && r.unclear(e) {
		u.answer(s, e.RequestID, u.context.clean(e.Request.Method+" "+e.Request.URL).Short(100).String())
		return
	}
	r.decide(t, s, e, page, main)
}

// unclear reports whether the rules may be about what was cut off of a request.
func (r *RequestRules) unclear(e *fetch.EventRequestPaused) bool {
	if wasCut(e.Request.URL) && r.answers() {
		return true
	}
	if len(r.Headers[OriginOf(e.Request.URL)]) == 0 {
		return false
	}
	for name, v := range e.Request.Headers { // all of them would be sent anew
		if s, ok := v.(string); wasCut(name) || ok && wasCut(s) {
			return true
		}
	}
	return false
}

// wasCut reports whether a text of an event is only the beginning: see [truncator].
func wasCut(s string) bool { return len(s) >= maxText && strings.HasSuffix(s, "…") }
