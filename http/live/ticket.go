package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// Bounds of tickets.
const (
	MinTicket     = time.Second
	MaxTicket     = 15 * time.Minute
	DefaultTicket = time.Minute
	maxTickets    = 1000 // alive at once, of one account
)

// ticket lets its bearer see one thing of an account, and nothing else. It
// stands in an address, where a token must not: browsers can send no headers
// with an EventSource.
type ticket struct {
	id      string
	account persistence.Account
	by      persistence.Digest // the token that made it, and that it is worth no more than
	object  string
	made    time.Time
	expires time.Time
	revoked chan struct{} // closed when it is, and with its account

	// link: it was made for somebody else, lives longer, and must not stand in
	// an address. See link.go.
	link    bool
	label   string
	viewers int  // clients that use it now
	written bool // the other nodes can know of it
}

// Kind is what a ticket is issued as.
type Kind struct {
	name             string
	sign, id         string        // what the secret and the identifier begin with
	most             int           // alive at once, of one account
	least, max, free time.Duration // how long one may live, and does if nobody says
	link             bool
	example          string
}

var (
	Ticket = &Kind{"ticket", "ticket_", "tkt_", maxTickets, MinTicket, MaxTicket, DefaultTicket, false, `{"object":"task_...","ttl":60000}`}
	Link   = &Kind{"link", "link_", "lnk_", maxLinks, MinLink, MaxLink, DefaultLink, true, `{"object":"sess_...","ttl":3600000,"label":"for the review"}`}
)

// Name is what it is called.
func (k *Kind) Name() string { return k.name }

// objects says what can be named.
func (k *Kind) objects() string {
	if k.link {
		return "the id of a task, a session or a worker"
	}
	return "the id of a task, a session or a worker, or account"
}

// read makes a ticket from a body, or says what is wrong with the body.
func (k *Kind) read(payload []byte) (n ticket, faults []lang.Fault) {
	fault := func(path, text string, a ...any) {
		if lang.MoreFaults(faults) {
			faults = append(faults, lang.NewFault(path, text, a...))
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil || fields == nil {
		fault("", "The body is not an object in JSON: want %s", k.example)
		return n, faults
	}
	names, ttl := "object and ttl", engine.Millis(k.free)
	if k.link {
		names = "object, ttl and label"
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[name]; {
		case name == "object":
			if json.Unmarshal(v, &n.object) != nil || !answer.SaneID([]byte(n.object)) || k.link && n.object == AccountObject {
				fault("/object", "object wants %s", k.objects())
			}
		case name == "ttl":
			if json.Unmarshal(v, &ttl) != nil || ttl < engine.Millis(k.least) || ttl > engine.Millis(k.max) {
				fault("/ttl", "ttl wants milliseconds from %d to %d", engine.Millis(k.least), engine.Millis(k.max))
			}
		case name == "label" && k.link:
			if json.Unmarshal(v, &n.label) != nil || utf8.RuneCountInString(n.label) > MaxLabel {
				fault("/label", "label wants a text of at most %d characters", MaxLabel)
			}
		default:
			fault("/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), "a %s has no field %q: want %s", k.name, name, names)
		}
	}
	if _, there := fields["object"]; !there {
		fault("/object", "object is missing: it names a task, a session or a worker")
	}
	n.link, n.made = k.link, time.Now()
	n.expires = n.made.Add(time.Duration(ttl) * time.Millisecond)
	return n, faults
}

// ticketFor issues what a request asks for.
func (s *Authorizer) ticketFor(ctx *fasthttp.RequestCtx, account persistence.Account, payload []byte, k *Kind) (plain string, n ticket, no *answer.Refusal) {
	n, faults := k.read(payload)
	if len(faults) > 0 {
		return "", n, answer.RefuseInvalid(faults...)
	}
	switch own, err := s.owns(account, n.object); {
	case err != nil:
		return "", n, s.cfg.Faults.Refuse(ctx, "look for a "+k.name+"'s object", err)
	case !own:
		return "", n, answer.RefuseText(engine.CodeNotFound, "There is no task, session or worker with this id")
	}
	token, _ := access.Bearer(ctx) // which let it in
	n.account, n.by = account, persistence.DigestOf(token)
	plain, id, ok, err := s.tickets.issue(s.cfg.Faults.Base, k, n)
	switch n.id = id; {
	case err != nil:
		return "", n, s.cfg.Faults.Refuse(ctx, "keep a "+k.name, err)
	case !ok:
		return "", n, answer.RefuseText(engine.CodeRateLimited, fmt.Sprintf("The account has %d %ss, or created twice as many within a minute: revoke some, or wait until they expire", k.most, k.name))
	}
	return plain, n, nil
}

// TicketMade and ticketRevoked are answers.
type (
	TicketMade struct {
		Success bool   `json:"success"`
		ID      string `json:"id"`
		Ticket  string `json:"ticket"`
		Object  string `json:"object"`
		Expires string `json:"expiresAt"`
	}
	TicketRevoked struct {
		Success bool `json:"success"`
	}
)

// IssueTicket answers with a ticket for one task, session or worker.
func (s *Authorizer) IssueTicket(ctx *fasthttp.RequestCtx, account persistence.Account, payload []byte) *answer.Refusal {
	plain, n, no := s.ticketFor(ctx, account, payload, Ticket)
	if no == nil {
		answer.SendJSON(ctx, fasthttp.StatusOK, TicketMade{true, n.id, plain, n.object, n.expires.UTC().Format(time.RFC3339Nano)})
	}
	return no
}

// AccountObject is the object of a ticket for all that happens in the account.
const AccountObject = "account"

// owns reports whether an account may see an object.
func (s *Authorizer) owns(account persistence.Account, object string) (bool, error) {
	if object == AccountObject {
		return true, nil
	}
	if strings.HasPrefix(object, "task_") {
		if s.cfg.Source != nil {
			if _, ok := s.cfg.Source.RecentTask(account.ID, account.Operator, object); ok {
				return true, nil
			}
		}
		p, err := api.Ask(s.cfg.Faults.Base, s.cfg.Actors, &api.Poll{TaskID: object, Account: access.ForActors(account), Bare: true})
		return err == nil && p.Refusal == nil, err
	}
	found, err := api.Ask(s.cfg.Faults.Base, s.cfg.Actors, &api.ListWorkers{Account: access.ForActors(account)})
	if err != nil {
		return false, err
	}
	for _, w := range found.Workers {
		// A worker of the shared pool shows everybody's tasks in turn: only who
		// owns it, or has a session or a task there now, may look.
		if w.Session != "" && w.Session == object || w.ID == object && (w.Owner == account.ID || w.Session != "" || w.TaskID != "" || account.Operator) {
			return true, nil
		}
	}
	return false, nil
}

// Revokes ends tickets of a kind before their time, and closes what is open
// through them.
func (s *Authorizer) Revokes(k *Kind) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
		switch found, err := s.tickets.revoke(s.cfg.Faults.Base, account.ID, id, k.link); {
		case err != nil:
			return s.cfg.Faults.Refuse(ctx, "revoke a "+k.name, err)
		case !found:
			return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no such %s: it has expired, or never existed", k.name))
		}
		answer.SendJSON(ctx, fasthttp.StatusOK, TicketRevoked{true})
		return nil
	}
}

// Alive reports whether a ticket or link of an account is valid.
func (s *Authorizer) Alive(account, plain string) (bool, error) {
	t, err := s.tickets.find(s.cfg.Faults.Base, plain)
	if err != nil || t == nil || t.account.ID != account || !t.expires.After(time.Now()) {
		return false, err
	}
	err = s.checkToken(t)
	if errors.Is(err, persistence.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
