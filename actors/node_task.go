package actors

import (
	"context"
	"errors"
)

// Start starts an asynchronous task. Its answer comes when a worker has the task
// and the task is on disk. When ctx ends before that, the task is cancelled,
// unless it carries a key.
//
// The files of the request are needed until the task has ended, see [Node.Poll].
func (n *Node) Start(ctx context.Context, m *Execute) (*Started, error) {
	return nil, errors.New("start a task: not built yet")
}

// Poll tells what has become of an asynchronous task.
func (n *Node) Poll(ctx context.Context, m *Poll) (*Polled, error) {
	return nil, errors.New("poll a task: not built yet")
}

// Follow tells of the steps of an asynchronous task as they end.
func (n *Node) Follow(ctx context.Context, m *Follow) (*Followed, error) {
	return nil, errors.New("follow a task: not built yet")
}
