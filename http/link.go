package http

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"troupe/engine"
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
func (s *Server) issueLink(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	b, no := s.readBody(ctx, "")
	defer b.remove()
	if no != nil {
		return no
	}
	var order map[string]json.RawMessage
	if err := json.Unmarshal(b.payload, &order); err != nil || order == nil {
		return refuseInvalid(engine.Fault{Message: `The body is not an object in JSON: want {"object":"sess_...","ttl":3600000,"label":"for the review"}`})
	}
	n, ttl := ticket{account: account, link: true}, engine.Millis(defaultLink)
	var faults []engine.Fault
	for name, v := range order {
		switch name {
		case "object":
			if json.Unmarshal(v, &n.object) != nil || !saneID([]byte(n.object)) || n.object == accountObject {
				faults = append(faults, engine.Fault{Path: "/object", Message: "object wants the id of a task, a session or a worker"})
			}
		case "ttl":
			if json.Unmarshal(v, &ttl) != nil || ttl < engine.Millis(minLink) || ttl > engine.Millis(maxLink) {
				faults = append(faults, engine.Fault{Path: "/ttl", Message: fmt.Sprintf("ttl wants milliseconds from %d to %d", engine.Millis(minLink), engine.Millis(maxLink))})
			}
		case "label":
			if json.Unmarshal(v, &n.label) != nil || utf8.RuneCountInString(n.label) > maxLabel {
				faults = append(faults, engine.Fault{Path: "/label", Message: fmt.Sprintf("label wants a text of at most %d characters", maxLabel)})
			}
		default:
			faults = append(faults, engine.Fault{Path: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), Message: fmt.Sprintf("a link has no field %q: want object, ttl and label", name)})
		}
	}
	if _, there := order["object"]; !there {
		faults = append(faults, engine.Fault{Path: "/object", Message: "object is missing: it names a task, a session or a worker"})
	}
	if len(faults) > 0 {
		return refuseInvalid(faults...)
	}
	switch own, err := s.owns(account, n.object); {
	case err != nil:
		return s.failed(ctx, "look for a link's object", err)
	case !own:
		return refuseText(engine.CodeNotFound, "There is no task, session or worker with this id")
	}
	n.made = time.Now()
	n.expires = n.made.Add(time.Duration(ttl) * time.Millisecond)
	plain, id, ok := s.tickets.issue(asLink, n)
	if !ok {
		return refuseText(engine.CodeRateLimited, fmt.Sprintf("The account has %d links: revoke some, or wait until they have ended", maxLinks))
	}
	n.id = id
	l := linkOf(&n)
	sendJSON(ctx, fasthttp.StatusOK, linkMade{true, id, plain, "/live#" + n.object + "/" + plain, n.object, n.label, l.Created, l.Expires})
	return nil
}

// listLinks lists the account's links that are alive, the newest first. Their
// secrets are not known any more.
func (s *Server) listLinks(ctx *fasthttp.RequestCtx, account persistence.Account) *refusal {
	sendJSON(ctx, fasthttp.StatusOK, linkList{true, s.tickets.links(account.ID, time.Now())})
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

// revokeLink ends a link, and closes what is open through it.
func (s *Server) revokeLink(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *refusal {
	if !s.tickets.revoke(account.ID, id, true) {
		return refuseText(engine.CodeNotFound, "There is no such link: it has ended, or never was")
	}
	sendJSON(ctx, fasthttp.StatusOK, ticketRevoked{true})
	return nil
}
