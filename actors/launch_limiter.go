package actors

import (
	"context"
	"sync"
	"time"
)

// headStart is how long the first browser of a node has the processors to itself
// at most.
const headStart = time.Second

// starts says whose turn it is to start a browser. Many at once only make each
// other slow, so there are places; and until the first browser is there nobody
// can be served, so nobody starts one beside that.
type launchLimiter struct {
	places chan struct{}
	begun  sync.Once
	open   func()
	first  chan struct{} // closed when the others may start
}

func newLaunchLimiter(places int) *launchLimiter {
	s := &launchLimiter{places: make(chan struct{}, places), first: make(chan struct{})}
	s.open = sync.OnceFunc(func() { close(s.first) })
	return s
}

// turn waits for a place. The caller must give it back.
func (s *launchLimiter) turn(ctx context.Context) (back func(), err error) {
	leads := false
	s.begun.Do(func() { leads = true })
	if leads {
		s.places <- struct{}{}
		lead := time.AfterFunc(headStart, s.open)
		return func() { lead.Stop(); s.open(); <-s.places }, nil
	}
	select {
	case <-s.first:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case s.places <- struct{}{}:
		return func() { <-s.places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
