package actors

import (
	"context"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/notice"
	"troupe/engine"
)

// openNotices sends notices, unless nodes share the store: nobody decides among them
// which one sends.
func (n *nodeParts) openNotices() {
	c := n.cfg.Notices
	if c.Client == nil || n.cfg.Node != "" {
		return
	}
	n.notices = notice.New(notice.Config{
		Records: n.records, Client: c.Client, Result: c.Result, Address: c.Address, Delays: c.Delays, Timeout: c.Timeout, OffAt: c.OffAt, Log: n.log,
	})
}

// noticesRetry is when notices may have been delivered.
const noticesRetry = time.Minute

const noNotices = "Nothing sends notices here, as in every cluster: follow tasks with get-result or events"

// mayNotify says why nobody could be told of the end of a task, or nil.
func (n *nodeParts) mayNotify(ctx context.Context, m *api.Execute) *api.Refusal {
	switch {
	case len(m.Task.Notify) > 0 && n.notices == nil:
		return &api.Refusal{Code: engine.CodeNoticesUnavailable, Text: noNotices}
	case n.notices.Full(ctx, m.Account.ID, len(m.Task.Notify) > 0):
		return &api.Refusal{Code: engine.CodeQueueFull, RetryAfter: noticesRetry, Text: fmt.Sprintf("%d notices of the account wait to be delivered", notice.MaxWaiting)}
	}
	return nil
}

// withNotices answers a verb about notices, where somebody sends them.
func withNotices[M, R any](refused func(*api.Refusal) *R, f func(*notice.Notices, context.Context, *M) (*R, error)) struct{} {
	return handleInNode(func(n *Node, ctx context.Context, m *M) (*R, error) {
		if n.parts.notices == nil {
			return refused(&api.Refusal{Code: engine.CodeNoticesUnavailable, Text: noNotices}), nil
		}
		return f(n.parts.notices, ctx, m)
	})
}

func unnoticed(no *api.Refusal) *api.Noticed         { return &api.Noticed{Refusal: no} }
func unchanged(no *api.Refusal) *api.EndpointChanged { return &api.EndpointChanged{Refusal: no} }

var (
	_ = withNotices(func(no *api.Refusal) *api.NoticesListed { return &api.NoticesListed{Refusal: no} }, (*notice.Notices).List)
	_ = withNotices(unnoticed, (*notice.Notices).Get)
	_ = withNotices(unnoticed, (*notice.Notices).Redeliver)
	_ = withNotices(func(no *api.Refusal) *api.EndpointsListed { return &api.EndpointsListed{Refusal: no} }, (*notice.Notices).Endpoints)
	_ = withNotices(unchanged, (*notice.Notices).PutEndpoint)
	_ = withNotices(unchanged, (*notice.Notices).ChangeEndpoint)
	_ = withNotices(func(no *api.Refusal) *api.NoticeSecretTold { return &api.NoticeSecretTold{Refusal: no} }, (*notice.Notices).Secret)
)
