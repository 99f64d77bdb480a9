package actors

import (
	"context"
	"sync"
	"time"
)

// headStart is how long at most the first browser of a node starts alone.
const headStart = time.Second

// launchLimiter limits how many browsers start at a time: more only slow each
// other down. Until the first browser is up nobody can be served, so it starts
// alone.
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

// turn waits for permission to start a browser. The caller must call back when
// the start is over.
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
