package actors

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/api"
)

// errNoAccount: what belongs to no account, as shared workers do, is not removed with
// one.
var errNoAccount = errors.New("remove an account: none is named")

var _ = handleInNode((*Node).removeAccount)

// removeAccount ends what an account has in the node and erases its data on disk. After
// a failure it can be called again. The caller removes first what the account has
// outside the node, above all its tokens.
func (n *Node) removeAccount(ctx context.Context, m *api.RemoveAccount) (*api.AccountRemoved, error) {
	if m.Account == "" {
		return nil, errNoAccount
	}
	n.parts.schedules.Forget(m.Account)
	n.parts.feeder().Forget(m.Account)
	r, err := askNode[api.AccountRemoved](ctx, n, n.parts.admission, m)
	if err == nil && r.Fault != "" {
		err = errors.New(r.Fault)
	}
	if err == nil {
		err = n.flush(ctx, m.Account)
	}
	if err == nil && n.parts.usage != nil {
		err = n.parts.usage.Written(ctx, m.Account)
	}
	if err == nil {
		n.parts.notices.Forget(m.Account)
		if leads := n.parts.noticeLead.Load(); leads != nil {
			leads.Forget(m.Account)
		}
		n.parts.statusCache.ForgetAccount(m.Account)
		n.parts.feed.ForgetAccount(m.Account)
		err = n.parts.records.EraseAccount(ctx, m.Account)
	}
	if err != nil {
		return nil, fmt.Errorf("remove an account: %w", err)
	}
	return r, nil
}
