package http

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// Where notices, their receivers and their secret are.
const (
	noticesPath   = "/v1/notices"
	endpointsPath = "/v1/endpoints"
	secretPath    = "/v1/notice-secret"
)

type (
	noticeList struct {
		Success bool            `json:"success"`
		Notices []answer.Notice `json:"notices"`
		Next    string          `json:"next,omitempty"` // the cursor of the next part
		// Unreadable are the identifiers of notices in this part that the service's key does not open.
		Unreadable []string `json:"unreadable,omitempty"`
	}
	noticeAnswer struct {
		Success bool          `json:"success"`
		Notice  answer.Notice `json:"notice"`
	}
	endpointList struct {
		Success   bool              `json:"success"`
		Endpoints []answer.Endpoint `json:"endpoints"`
		// Unreadable are the identifiers of endpoints that the service's key does not open.
		Unreadable []string `json:"unreadable,omitempty"`
	}
	endpointAnswer struct {
		Success  bool            `json:"success"`
		Endpoint answer.Endpoint `json:"endpoint"`
	}
	secretAnswer struct {
		Success  bool   `json:"success"`
		Secret   string `json:"secret"`
		Previous string `json:"previous,omitempty"` // signs as well until previousUntil
		Until    string `json:"previousUntil,omitempty"`
	}
)

// noticeRoutes are the routes of notices.
func (s *Server) noticeRoutes() []route {
	one, endpoint := noticesPath+"/{noticeId}", endpointsPath+"/{endpointId}"
	return []route{
		s.tokenRoute("GET", noticesPath, s.loading(withoutName(s.listNotices))),
		s.callRoute(one+"/redeliver", byName(s.redeliver), asItIs(s.loading(s.getNotice))),
		s.tokenRoute("GET", one, s.loading(s.getNotice)),
		s.tokenRoute("GET", endpointsPath, wholeList(s.listEndpoints)),
		s.callRoute(endpointsPath, withBody(s.putEndpoint), s.endpointMade),
		s.callRoute(endpoint+"/enable", byName(s.enableEndpoint), s.endpointMade),
		s.tokenRoute("DELETE", endpoint, s.removeEndpoint),
		s.tokenRoute("GET", secretPath, withoutName(s.noticeSecret)),
		s.callRoute(secretPath+"/rotate", withBody(s.rotateSecret), asItIs(func(ctx *fasthttp.RequestCtx, a persistence.Account, _ string) *answer.Refusal {
			return s.noticeSecret(ctx, a)
		})),
	}
}

// Which notices are listed.
const (
	noticesWaiting = "waiting"
	noticesEnded   = "ended"
)

func (s *Server) listNotices(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	most, faults := readCount(ctx, "limit", answer.DefaultRecent, maxRecent)
	args := ctx.QueryArgs()
	m := &api.ListNotices{Account: access.ForActors(account), Most: most}
	if args.Has("status") {
		words := []string{noticesWaiting, noticesEnded}
		switch status := string(args.Peek("status")); status {
		case noticesWaiting:
			m.Waiting = true
		case noticesEnded:
		default:
			faults = append(faults, lang.Fault{Path: "/status", Message: fmt.Sprintf("want %s, not %q%s", strings.Join(words, " or "), lang.Short(status, 100), lang.DidYouMean(status, words))})
		}
	}
	after, fault := readCursor(ctx, noticeCursors[m.Waiting], nextWanted)
	m.After, faults = after, append(faults, fault...)
	if len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	l, no := ask(s, ctx, s.base, "list notices", m)
	if no != nil {
		return no
	}
	list := noticeList{Success: true, Notices: make([]answer.Notice, len(l.Notices)), Next: l.Next, Unreadable: l.Unreadable}
	for i := range l.Notices {
		list.Notices[i] = answer.OfNotice(&l.Notices[i])
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, list)
	return nil
}

// sendNotice answers with one notice.
func (s *Server) sendNotice(ctx *fasthttp.RequestCtx, doing, id string, m api.Request[api.Noticed]) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no notice %q", lang.Short(id, 100)))
	}
	x, no := ask(s, ctx, s.base, doing, m)
	if no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, noticeAnswer{true, answer.OfNotice(x.Notice)})
	return nil
}

func (s *Server) getNotice(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	return s.sendNotice(ctx, "read a notice", id, &api.GetNotice{Account: access.ForActors(account), ID: id})
}

func (s *Server) redeliver(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	return s.sendNotice(ctx, "send a notice again", id, &api.Redeliver{Account: access.ForActors(account), ID: id})
}

func (s *Server) listEndpoints(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	l, no := ask(s, ctx, s.base, "list endpoints", &api.ListEndpoints{Account: access.ForActors(account)})
	if no != nil {
		return no
	}
	list := endpointList{Success: true, Endpoints: make([]answer.Endpoint, len(l.Endpoints)), Unreadable: l.Unreadable}
	for i := range l.Endpoints {
		list.Endpoints[i] = answer.OfEndpoint(&l.Endpoints[i])
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, list)
	return nil
}

// sendEndpoint answers with one endpoint.
func (s *Server) sendEndpoint(ctx *fasthttp.RequestCtx, doing string, m api.Request[api.EndpointChanged]) *answer.Refusal {
	x, no := ask(s, ctx, s.base, doing, m)
	if no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, endpointAnswer{true, answer.OfEndpoint(x.Endpoint)})
	return nil
}

func (s *Server) putEndpoint(ctx *fasthttp.RequestCtx, account persistence.Account, body []byte) *answer.Refusal {
	n, fault := lang.ReadNode(body)
	if fault != nil {
		return answer.RefuseInvalid(*fault)
	}
	d := &lang.Decoder{}
	m := &api.PutEndpoint{Account: access.ForActors(account), Notify: engine.ReadReceiver(d, n, engine.NotifyAccount)}
	if d.Wrong() > 0 {
		return answer.RefuseInvalid(d.Faults()...)
	}
	if f := engine.ReceiverFault("", m.Notify, s.cfg.Unreachable); f != nil {
		return answer.RefuseInvalid(*f)
	}
	return s.sendEndpoint(ctx, "keep an endpoint", m)
}

// endpointMade answers a repeat with the endpoint that the first request was answered with,
// as it is now.
func (s *Server) endpointMade(ctx *fasthttp.RequestCtx, account persistence.Account, _ string, first *callAnswer) *answer.Refusal {
	var made endpointAnswer
	if err := json.Unmarshal(first.Body, &made); err != nil {
		return s.faults.Refuse(ctx, "read the answer to a key", err)
	}
	l, no := ask(s, ctx, s.base, "list endpoints", &api.ListEndpoints{Account: access.ForActors(account)})
	if no != nil {
		return no
	}
	for i := range l.Endpoints {
		if l.Endpoints[i].ID == made.Endpoint.EndpointID {
			answer.SendJSON(ctx, first.Status, endpointAnswer{true, answer.OfEndpoint(&l.Endpoints[i])})
			return nil
		}
	}
	return goneSince("endpoint")
}

func (s *Server) enableEndpoint(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	return s.changeEndpoint(ctx, account, id, api.EndpointEnable)
}

func (s *Server) removeEndpoint(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	return s.changeEndpoint(ctx, account, id, api.EndpointRemove)
}

func (s *Server) changeEndpoint(ctx *fasthttp.RequestCtx, account persistence.Account, id string, to api.EndpointChange) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no endpoint %q", lang.Short(id, 100)))
	}
	return s.sendEndpoint(ctx, "change an endpoint", &api.ChangeEndpoint{Account: access.ForActors(account), ID: id, Change: to})
}

func (s *Server) noticeSecret(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	return s.sendSecret(ctx, account, false)
}

func (s *Server) rotateSecret(ctx *fasthttp.RequestCtx, account persistence.Account, _ []byte) *answer.Refusal {
	return s.sendSecret(ctx, account, true)
}

func (s *Server) sendSecret(ctx *fasthttp.RequestCtx, account persistence.Account, rotate bool) *answer.Refusal {
	x, no := ask(s, ctx, s.base, "read the secret of notices", &api.NoticeSecret{Account: access.ForActors(account), Rotate: rotate})
	if no != nil {
		return no
	}
	a := secretAnswer{Success: true, Secret: x.Secret, Previous: x.Previous}
	if x.Previous != "" {
		a.Until = x.Until.UTC().Format(time.RFC3339)
	}
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	answer.SendJSON(ctx, fasthttp.StatusOK, a)
	return nil
}

// NoticeResult makes the result that a notice has in it: what get-result answers.
func NoticeResult(p *api.Polled) ([]byte, error) { return answer.ResultOf(p) }
