package http

import (
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/http/answer"
	"troupe/persistence"
)

// linksPath is where links are made and listed, and revoked below it.
const linksPath = "/v1/links"

// Bounds of links.
const (
	minLink     = time.Minute
	maxLink     = 24 * time.Hour
	defaultLink = time.Hour
	maxLinks    = 100 // alive at once, of one account
	maxLabel    = 100 // characters
)

// link is a ticket that is given to somebody else: a colleague who is to see
// what happens now. Its secret stands behind the # of an address, which browsers
// send to nobody, and goes from there beside the protocol of the socket: it is in
// no log, no history of a proxy and no Referer. See docs/security.md.
type link struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Label    string `json:"label,omitempty"`
	Created  string `json:"createdAt"`
	Expires  string `json:"expiresAt"`
	Watching int    `json:"watching"` // who look through it now
}

type (
	linkMade struct {
		Success bool   `json:"success"`
		ID      string `json:"id"`
		Link    string `json:"link"`
		Path    string `json:"path"`
		Object  string `json:"object"`
		Label   string `json:"label,omitempty"`
		Created string `json:"createdAt"`
		Expires string `json:"expiresAt"`
	}
	linkList struct {
		Success bool   `json:"success"`
		Links   []link `json:"links"`
	}
)

func linkOf(t *ticket) link {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	return link{ID: t.id, Object: t.object, Label: t.label, Created: at(t.made), Expires: at(t.expires), Watching: t.watching}
}

// issueLink answers with a link to one task, session or worker.
func (s *Server) issueLink(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	plain, n, no := s.ticketFor(ctx, account, asLink)
	if no == nil {
		l := linkOf(&n)
		answer.SendJSON(ctx, fasthttp.StatusOK, linkMade{true, n.id, plain, "/live#" + n.object + "/" + plain, n.object, n.label, l.Created, l.Expires})
	}
	return no
}

// listLinks lists the account's links that are alive, the newest first. Their
// secrets are not known any more.
func (s *Server) listLinks(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	list := s.tickets.links(account.ID, time.Now())
	if s.cfg.Beside != nil && len(list) > 0 {
		others := s.cfg.Beside.Looking(s.base, account.ID)
		for i := range list {
			list[i].Watching += others[list[i].ID]
		}
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, linkList{true, list})
	return nil
}

func (t *tickets) links(account string, now time.Time) []link {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []link{}
	for _, v := range t.alive {
		if v.link && v.account.ID == account && v.expires.After(now) {
			list = append(list, linkOf(v))
		}
	}
	slices.SortFunc(list, func(a, b link) int { return strings.Compare(b.Created+b.ID, a.Created+a.ID) })
	return list
}

// look counts who looks through a ticket.
func (t *tickets) look(v *ticket, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.watching += n
}
