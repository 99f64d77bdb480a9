package socket

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// Issued is the answer to a request for a ticket.
type Issued struct {
	Success bool   `json:"success"`
	Ticket  string `json:"ticket"`
	URL     string `json:"url"`
	Expires string `json:"expiresAt,omitempty"` // none: it ends with the session
	Reuse   bool   `json:"reuse"`
}

// Issue makes a ticket for a session.
func (s *Sockets) Issue(ctx *fasthttp.RequestCtx, _ persistence.Account, session string, payload []byte) *answer.Refusal {
	b, no := s.authorize(ctx, session, false)
	if no != nil {
		return no
	}
	var want map[string]json.RawMessage
	reuse := false
	if err := json.Unmarshal(payload, &want); err != nil || want == nil {
		return answer.RefuseInvalid(lang.Fault{Message: `The body is not an object in JSON: want {} or {"reuse":true}`})
	}
	for name, v := range want {
		if name != "reuse" {
			return answer.RefuseInvalid(lang.NewFault("/"+lang.Short(name, 50), "a ticket of a session has no field %q: want reuse", lang.Short(name, 50)))
		}
		if err := json.Unmarshal(v, &reuse); err != nil {
			return answer.RefuseInvalid(lang.NewFault("/reuse", "reuse wants true or false"))
		}
	}
	all, no := s.cfg.Sessions(ctx, b.account)
	if no != nil {
		return no
	}
	alive := map[string]bool{}
	for _, one := range all {
		alive[one.ID] = true
	}
	now := time.Now()
	t := ticket{account: b.account, by: b.token, session: session}
	a := Issued{Success: true, Reuse: reuse}
	if !reuse {
		t.expires = now.Add(ticketTime)
		a.Expires = t.expires.UTC().Format(time.RFC3339Nano)
	}
	plain, ok := s.tickets.issue(t, now, func(id string) bool { return alive[id] })
	if !ok {
		return answer.RefuseText(engine.CodeRateLimited, fmt.Sprintf("The account has %d tickets for sessions: use some, or let them expire", maxTickets))
	}
	a.Ticket, a.URL = plain, s.address(ctx, session, plain)
	answer.SendJSON(ctx, fasthttp.StatusCreated, a)
	return nil
}
