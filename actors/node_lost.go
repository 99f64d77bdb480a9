package actors

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// PollLost tells what has become of a task whose node is down: what is on disk
// of its end, or that it is lost. Then it has failed for everybody from now on,
// whatever that node does when it is back.
func (n *Node) PollLost(ctx context.Context, m *api.Poll) (*api.Polled, error) {
	p, err := n.parts.records.GiveUpTask(ctx, m.TaskID, m.Account.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return &api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(m.TaskID))}, nil
	case err != nil:
		return nil, fmt.Errorf("give up a task: %w", err)
	}
	return p, nil
}
