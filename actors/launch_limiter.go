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
	slots     chan struct{}
	firstOnce sync.Once
	open      func()
	firstUp   chan struct{} // closed when the others may start
}

func newLaunchLimiter(most int) *launchLimiter {
	s := &launchLimiter{slots: make(chan struct{}, most), firstUp: make(chan struct{})}
	s.open = sync.OnceFunc(func() { close(s.firstUp) })
	return s
}

// acquire waits for permission to start a browser. The caller must call back when
// the start is over.
func (s *launchLimiter) acquire(ctx context.Context) (back func(), err error) {
	isFirst := false
	s.firstOnce.Do(func() { isFirst = true })
	if isFirst {
		s.slots <- struct{}{}
		timer := time.AfterFunc(headStart, s.open)
		return func() { timer.Stop(); s.open(); <-s.slots }, nil
	}
	select {
	case <-s.firstUp:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
