package http

import (
	"context"
	"errors"
)

// DrainService lets the service take no more tasks, as if it were about to stop.
// What runs and what waits goes on. It holds until [ResumeService], or until the
// service starts again.
type DrainService struct{}

func (DrainService) path() string { return "/drain" }

// Do is part of [Order].
func (DrainService) Do(_ context.Context, o *Office) (Capacity, error) { return o.pause(true) }

// ResumeService takes [DrainService] back.
type ResumeService struct{}

func (ResumeService) path() string { return "/resume" }

// Do is part of [Order].
func (ResumeService) Do(_ context.Context, o *Office) (Capacity, error) { return o.pause(false) }

// CountService tells what the workers do, and changes nothing.
type CountService struct{}

func (CountService) path() string { return "/capacity/list" }

// Do is part of [Order].
func (CountService) Do(_ context.Context, o *Office) (Capacity, error) { return o.count() }

func (o *Office) pause(on bool) (Capacity, error) {
	if o.Edge != nil {
		o.Edge.Pause(on)
	}
	return o.count()
}

func (o *Office) count() (Capacity, error) {
	if o.Edge == nil {
		return Capacity{}, errors.New("no service runs")
	}
	return o.Edge.free(), nil
}
