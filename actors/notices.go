package actors

import (
	"context"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/notice"
	"troupe/engine"
)

// openNotices sends notices, and answers what is asked about them. Of nodes that share the
// records, one sends: see [nodeParts.leadNotices].
func (n *nodeParts) openNotices() {
	if n.cfg.Notices.Client != nil && (n.cfg.Node == "" || n.sharesQueue()) {
		n.notices = notice.New(n.noticeConfig())
	}
}

func (n *nodeParts) noticeConfig() notice.Config {
	c := n.cfg.Notices
	return notice.Config{
		Clock:   n.cfg.Clock,
		Records: n.records, Client: c.Client, Result: c.Result, Address: c.Address, Delays: c.Delays, Timeout: c.Timeout, OffAt: c.OffAt,
		Shared: n.cfg.Node != "", Counts: &n.noticeCounts, Log: n.log,
	}
}

// startNotices begins to send what waits. Of nodes that share the records, each first makes
// up for what an earlier process of its own has left.
func (n *nodeParts) startNotices() error {
	if n.notices == nil || n.cfg.Node == "" {
		return n.notices.Start(context.Background())
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.stopTelling = cancel
	n.background.Go(func() {
		for !n.tellOfNode(ctx, n.cfg.Node, false) {
			pause(ctx, again)
		}
	})
	return nil
}

func (n *nodeParts) stopNotices() {
	if n.stopTelling != nil {
		n.stopTelling()
	}
	n.notices.Stop()
}

// tellOfNode writes the notices that a node has not written. It reports whether nothing is
// left to do.
func (n *nodeParts) tellOfNode(ctx context.Context, node string, lost bool) bool {
	err := protect(func() error { return n.records.TellOfNode(ctx, node, lost) })
	if err != nil && ctx.Err() == nil {
		n.log.Error().Err(err).Str("node", node).Msg("notices of the tasks of a node not written")
	}
	return err == nil || ctx.Err() != nil
}

// leadNotices sends the notices of all nodes, while this one orders the queue.
func (n *nodeParts) leadNotices(term uint64) {
	if n.notices == nil {
		return
	}
	cfg := n.noticeConfig()
	cfg.Serves = func() bool { return n.leases.Serves(term) }
	ctx, cancel := context.WithCancel(context.Background())
	leads := &noticeLead{Notices: notice.New(cfg), cancel: cancel}
	_ = leads.Start(ctx) // it reads in the background
	n.noticeLead.Store(leads)
	n.background.Go(func() { n.tellOfLost(ctx) })
}

// noticeLead is what a node has that sends the notices of all.
type noticeLead struct {
	*notice.Notices
	cancel context.CancelFunc
}

func (n *nodeParts) dropNotices() {
	if leads := n.noticeLead.Swap(nil); leads != nil {
		leads.cancel()
		leads.Stop()
	}
}

// lostEvery is how often nodes are looked for that are lost.
const lostEvery = 2 * time.Second

// tellOfLost gives up tasks of lost nodes that have receivers: these are not to wait until
// somebody asks about the task.
func (n *nodeParts) tellOfLost(ctx context.Context) {
	told := map[string]uint64{} // by node: the revision of the lease that was ended
	for ; ctx.Err() == nil; pause(ctx, lostEvery) {
		for node, revision := range n.leases.Others() {
			if ctx.Err() != nil || n.cfg.Peers.Up(node) || told[node] == revision {
				continue
			}
			bound, cancel := context.WithTimeout(ctx, n.leases.Duration+restoreMargin)
			err := protect(func() error { return n.leases.WaitAndRevoke(bound, node) })
			cancel()
			if err == nil && n.tellOfNode(ctx, node, true) {
				told[node] = n.leases.Others()[node]
			}
		}
	}
}

// noticesRetry is when notices may have been delivered.
const noticesRetry = time.Minute

const noNotices = "Nothing sends notices here: follow tasks with get-result or events"

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
