package live

import (
	"context"
	"time"
)

// guard ends a stream when the credential that opened it is no longer valid.
type guard struct {
	authorizer *Authorizer
	every      time.Duration
	credential *Credential
	checked    time.Time // when the credential was last seen to be valid
}

// guarded ends a stream when its credential is revoked, or when the other thing happens.
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

// allows checks sometimes whether the client may still read.
func (g *guard) allows() bool {
	now := time.Now()
	if now.Sub(g.checked) < g.every {
		return true
	}
	g.checked = now
	return g.authorizer.valid(g.credential)
}
