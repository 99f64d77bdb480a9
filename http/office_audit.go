package http

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// errUnaudited says that an order was not carried out because the audit log takes
// no lines.
var errUnaudited = errors.New("the audit log cannot be written, so nothing was done")

// reads reports whether an order changes nothing.
func reads(path string) bool {
	return strings.HasSuffix(path, "/list") || strings.HasSuffix(path, "/show")
}

// CarryOut carries out an order. One that changes something is in the audit log
// before it begins, and again with its result.
func CarryOut[R any](ctx context.Context, o *Office, order Order[R]) (R, error) {
	if o.Audit == nil || reads(order.path()) {
		return order.Do(ctx, o)
	}
	end, err := o.Audit.Begin(persistence.Act{Order: strings.TrimPrefix(order.path(), "/"), About: aboutOf(order), By: o.By, From: o.From})
	if err != nil {
		// Whoever may open the private socket may change the file as well, and
		// must be able to drain a service whose disk is full.
		if o.remote {
			var none R
			return none, fmt.Errorf("%w: %w", errUnaudited, persistence.Unwritten(err))
		}
		o.unaudited(err)
		end = func(string, string) error { return nil }
	}
	result, err := order.Do(ctx, o)
	how, detail := persistence.ActDone, ""
	if d, ok := any(result).(interface{ detail() string }); ok {
		detail = d.detail()
	}
	if err != nil {
		how, detail = persistence.ActRefused, err.Error()
	}
	if err := end(how, detail); err != nil {
		o.unaudited(err)
	}
	return result, err
}

func (o *Office) unaudited(err error) {
	if o.Edge != nil {
		o.Edge.cfg.Log.Error().Err(err).Msg("an operator's order is missing in the audit log")
	}
}

// ListAudit lists what operators did, the newest first. It is for the private
// socket only: names of secrets are in it.
type ListAudit struct {
	Limit   int    `json:"limit"`
	Account string `json:"account,omitempty"` // only acts by or about this account
}

// maxAudit is how many acts a list has at most.
const maxAudit = 10_000

func (ListAudit) path() string { return "/audit/list" }

// Do is part of [Order].
func (l ListAudit) Do(_ context.Context, o *Office) ([]persistence.Act, error) {
	if o.Audit == nil {
		return nil, errors.New("this service keeps no audit log")
	}
	if l.Limit < 1 || l.Limit > maxAudit {
		return nil, fmt.Errorf("the limit is %d: want 1 to %d", l.Limit, maxAudit)
	}
	return o.Audit.Last(l.Limit, func(a persistence.Act) bool {
		about, _, _ := strings.Cut(a.About, "/") // account/secret
		return l.Account == "" || a.By.Account == l.Account || about == l.Account || a.Detail == l.Account
	})
}

// Orders over HTTP that change something are bounded, all operators' together:
// so nobody can push what they did out of the audit log within days.
const (
	orderBurst = 600
	orderEvery = 6 * time.Second
)

// orderBudget says when as many orders as [orderBurst] may come again.
type orderBudget struct {
	mu   sync.Mutex
	even time.Time
}

// take takes one order out of the budget, or says how long to wait for one.
func (b *orderBudget) take(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.even.Before(now) {
		b.even = now
	}
	if wait = b.even.Sub(now) - (orderBurst-1)*orderEvery; wait > 0 {
		return wait
	}
	b.even = b.even.Add(orderEvery)
	return 0
}

func tooManyOrders(wait time.Duration) *answer.Refusal {
	no := answer.RefuseText(engine.CodeRateLimited, fmt.Sprintf("Operators have given %d orders over HTTP within an hour: wait, or use the command line on the machine itself", orderBurst))
	no.RetryAfter = wait
	return no
}

// operatorBy is who gives an order over HTTP.
func operatorBy(ctx *fasthttp.RequestCtx, a persistence.Account, token persistence.Digest) persistence.Issuer {
	return persistence.Issuer{Via: persistence.ViaHTTP, Account: a.Name, Token: token.TokenID(), Request: answer.RequestID(ctx)}
}

// clientText is the address that a request comes from; of IPv6 its network.
func (s *Server) clientText(ctx *fasthttp.RequestCtx) string {
	from := s.client(ctx)
	if from.IsSingleIP() {
		return from.Addr().String()
	}
	return from.String()
}

// lookBook remembers which live pictures of other accounts operators look at: a
// page that connects again is no new act.
type lookBook struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const (
	lookAgain = time.Hour
	maxLooks  = 10_000
)

// again reports whether something was looked at within the last hour, and notes
// that it is now.
func (b *lookBook) again(what string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.seen[what]; ok && now.Sub(at) < lookAgain {
		return true
	}
	if b.seen == nil || len(b.seen) >= maxLooks {
		b.seen = map[string]time.Time{}
	}
	b.seen[what] = now
	return false
}

// looksOn writes into the audit log that an operator's account is about to see
// the live picture of another account.
func (s *Server) looksOn(ctx *fasthttp.RequestCtx, p *pass, object string, w *actors.Watcher) *answer.Refusal {
	if !p.account.Operator || s.cfg.Office == nil || s.cfg.Office.Audit == nil {
		return nil
	}
	whose := ""
	if t, ok := s.cfg.Live.RecentTask(p.account.ID, true, w.Task); ok {
		if whose = persistence.AccountName(t.Account); t.Account == p.account.ID && object == w.Task {
			return nil
		}
	}
	token := persistence.DigestOf(p.token)
	if p.ticket != nil {
		token = p.ticket.by
	}
	by := operatorBy(ctx, p.account, token)
	if s.looks.again(by.Token+" "+object+" "+whose, time.Now()) {
		return nil
	}
	if wait := s.orders.take(time.Now()); wait > 0 {
		return tooManyOrders(wait)
	}
	end, err := s.cfg.Office.Audit.Begin(persistence.Act{Order: "live", About: object, By: by, From: s.clientText(ctx)})
	if err == nil {
		err = end(persistence.ActDone, whose)
	}
	if err != nil {
		return s.faults.Refuse(ctx, "write the audit log", persistence.Unwritten(err))
	}
	return nil
}
