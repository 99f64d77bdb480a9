package admin

import (
	"context"
	"errors"

	"troupe/http/answer"
)

// DrainService makes the service refuse new tasks, as before a stop. Running and waiting
// tasks continue. It holds until [ResumeService], or until the service starts again. In a
// cluster it drains one node.
type DrainService struct {
	Node string `json:"node,omitempty"` // empty: the one that is asked
}

func (DrainService) path() string    { return "/drain" }
func (d DrainService) about() string { return d.Node }

// Do is part of [Command].
func (d DrainService) Do(ctx context.Context, o *Admin) (answer.Capacity, error) {
	on := true
	return o.pause(ctx, d.Node, &on)
}

// ResumeService takes [DrainService] back.
type ResumeService struct {
	Node string `json:"node,omitempty"`
}

func (ResumeService) path() string    { return "/resume" }
func (r ResumeService) about() string { return r.Node }

// Do is part of [Command].
func (r ResumeService) Do(ctx context.Context, o *Admin) (answer.Capacity, error) {
	return o.pause(ctx, r.Node, new(bool))
}

// CountService says what the workers do, and changes nothing.
type CountService struct {
	Node string `json:"node,omitempty"`
}

func (CountService) path() string { return "/capacity/list" }

// Do is part of [Command].
func (c CountService) Do(ctx context.Context, o *Admin) (answer.Capacity, error) {
	return o.pause(ctx, c.Node, nil)
}

// pause lets the service, or one of its nodes, take no more tasks or take them
// again, and counts; nil: it only counts.
func (o *Admin) pause(ctx context.Context, node string, on *bool) (answer.Capacity, error) {
	switch {
	case o.Service == nil:
		return answer.Capacity{}, errors.New("no service runs")
	case node != "" && !o.Service.Clustered():
		return answer.Capacity{}, errors.New("the service is not a node of a cluster: name no node")
	}
	return o.Service.Pause(ctx, node, on)
}
