package cluster

import (
	"context"
	"errors"
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/cluster/link"
	"troupe/engine"
)

// receive takes a message of another node.
func (c *Router) receive(m any) link.Reply {
	now := func(x any) link.Reply { return link.Reply{Make: func() any { return x }} }
	if o, ok := m.(*link.ForwardedExecute); ok {
		if err := checkForwarded(o); err != nil {
			return now(&link.Fault{Text: err.Error(), Unstarted: true})
		}
		c.peers.noteMessage(o.Origin, o.Boot, o.Sent)
		one, err := c.hosted.begin(o) // now: what comes next may cancel it
		switch {
		case errors.Is(err, errStillRunning):
			no := &api.Refusal{Code: engine.CodeNoWorkerAvailable, Text: err.Error()}
			return now(&api.Executed{TaskID: o.TaskID, Refusal: no})
		case err != nil:
			return now(&link.Fault{Text: err.Error(), Unstarted: undelivered(err) || errors.Is(err, errWithdrawn)})
		}
		return link.Reply{Make: func() any { return c.hosted.host(one, o) }, Sent: func() { c.hosted.answered(one) }}
	}
	if q, ok := m.(*link.ReceiptQuery); ok {
		return now(c.hosted.receipt(q)) // what came before it is known
	}
	return link.Reply{Make: func() any {
		x, err := c.answer(m)
		if err != nil {
			return &link.Fault{Text: err.Error()}
		}
		return x
	}}
}

// pollTimeout bounds an answer that may be waited for.
const pollTimeout = 2 * time.Minute

func (c *Router) answer(m any) (any, error) {
	most := pollTimeout
	if v := api.VerbOf(m); v != nil {
		most = max(most, v.Takes(m))
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	switch m := m.(type) {
	case *api.Cancel:
		x, err := api.Ask(ctx, c.local, m)
		if err == nil && !x.Found && c.hosted.cancel(m) {
			x = &api.Cancelled{Found: true}
		}
		return x, err
	case *link.LocateSession:
		return c.isHere(ctx, m)
	case *link.DigestQuery:
		return c.answerDigest(m), nil
	case *link.StartQuery:
		return &link.StartReply{OK: c.inflight.confirmStart(m)}, nil
	case *view.ScreencastRequest:
		return c.served.serveScreencast(c.local, m), nil
	case *link.OpenView:
		return c.served.serveView(c.local, m)
	case *link.NextInView:
		return c.served.next(ctx, m.ID)
	case *link.CloseView:
		c.served.end(m.ID)
		return &link.CloseView{}, nil
	case *link.ClientReady:
		return m, c.carried.ready(m)
	case *link.EndClients:
		return &link.ClientsEnded{Found: c.edge.EndClients(m.Account, m.Session, m.Why)}, nil
	case *link.FindTicket:
		return &link.TicketFound{Ticket: c.edge.SessionTicket(m.Sum, m.Session, m.Use)}, nil
	case *link.RecentTasks:
		return serveRecent(c.local, m), nil
	case *link.PauseNode:
		return c.pauseHere(m), nil
	case *link.LinkViewers:
		return &link.LinkViewersReply{By: c.edge.LinkViewers(m.Account)}, nil
	default:
		return c.local.Do(ctx, m)
	}
}

func (c *Router) isHere(ctx context.Context, m *link.LocateSession) (*link.SessionLocated, error) {
	all, err := api.Ask(ctx, c.local, &api.SurveyWorkers{})
	if err != nil {
		return nil, err
	}
	for _, w := range all.Workers {
		if w.Session == m.Session && w.Account == m.Account {
			return &link.SessionLocated{Here: true}, nil
		}
	}
	return &link.SessionLocated{}, nil
}
