package live

import (
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/http/answer"
	"troupe/persistence"
)

// Bounds of links.
const (
	MinLink     = time.Minute
	MaxLink     = 24 * time.Hour
	DefaultLink = time.Hour
	maxLinks    = 100 // alive at once, of one account
	MaxLabel    = 100 // characters
)

// SharedLink is a ticket that is given to somebody else: a colleague who is to see
// what happens now. Its secret stands behind the # of an address, which browsers
// send to nobody, and goes from there beside the protocol of the socket: it is in
// no log, no history of a proxy and no Referer. See docs/security.md.
type SharedLink struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Label   string `json:"label,omitempty"`
	Created string `json:"createdAt"`
	Expires string `json:"expiresAt"`
	Viewers int    `json:"watching"` // its clients now
}

type (
	LinkMade struct {
		Success bool   `json:"success"`
		ID      string `json:"id"`
		Link    string `json:"link"`
		Path    string `json:"path"`
		Object  string `json:"object"`
		Label   string `json:"label,omitempty"`
		Created string `json:"createdAt"`
		Expires string `json:"expiresAt"`
	}
	LinkList struct {
		Success bool         `json:"success"`
		Links   []SharedLink `json:"links"`
	}
)

func linkOf(t *ticket) SharedLink {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	return SharedLink{ID: t.id, Object: t.object, Label: t.label, Created: at(t.made), Expires: at(t.expires), Viewers: t.viewers}
}

// IssueLink answers with a link to one task, session or worker.
func (s *Authorizer) IssueLink(ctx *fasthttp.RequestCtx, account persistence.Account, payload []byte) *answer.Refusal {
	plain, n, no := s.ticketFor(ctx, account, payload, Link)
	if no == nil {
		l := linkOf(&n)
		answer.SendJSON(ctx, fasthttp.StatusOK, LinkMade{true, n.id, plain, "/live#" + n.object + "/" + plain, n.object, n.label, l.Created, l.Expires})
	}
	return no
}

// ListLinks lists the account's links that are alive, the newest first. Their
// secrets are not known any more.
func (s *Authorizer) ListLinks(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	list := s.tickets.links(account.ID, time.Now())
	if s.cfg.Others != nil && len(list) > 0 {
		others := s.cfg.Others(s.cfg.Faults.Base, account.ID)
		for i := range list {
			list[i].Viewers += others[list[i].ID]
		}
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, LinkList{true, list})
	return nil
}

func (t *tickets) links(account string, now time.Time) []SharedLink {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []SharedLink{}
	for _, v := range t.alive {
		if v.link && v.account.ID == account && v.expires.After(now) {
			list = append(list, linkOf(v))
		}
	}
	slices.SortFunc(list, func(a, b SharedLink) int { return strings.Compare(b.Created+b.ID, a.Created+a.ID) })
	return list
}

// addViewers counts the clients of a ticket.
func (t *tickets) addViewers(v *ticket, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.viewers += n
}
