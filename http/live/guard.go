package live

import (
	"context"
	"time"
)

// guard lets a stream end with the pass that opened it.
type guard struct {
	authorizer *Authorizer
	every      time.Duration
	credential *Credential
	looked     time.Time // when the pass was last seen to be valid
}

// guarded ends a stream when its pass is revoked, or when the other thing happens.
func (s *Streams) guarded(t *stream, p *Credential, also <-chan struct{}) *guard {
	gone := t.stop
	ctx, cancel := context.WithCancel(t.ctx)
	t.ctx = ctx
	go func() { // ends with the stream
		select {
		case <-p.revoked():
			cancel()
		case <-also:
			cancel()
		case <-ctx.Done():
		}
	}()
	t.stop = func() {
		cancel()
		gone()
	}
	return &guard{s.authorizer, s.cfg.Heartbeat, p, time.Now()}
}

// lets looks now and then whether the client may still hear of anything.
func (g *guard) lets() bool {
	now := time.Now()
	if now.Sub(g.looked) < g.every {
		return true
	}
	g.looked = now
	return g.authorizer.valid(g.credential)
}
