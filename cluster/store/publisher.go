package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxGroups is how many groups of changes are on their way at the same time: the next
	// one travels while the leader syncs the one before.
	maxGroups = 2
	// lateAfter is how long changes wait for a group that gets no answers, before they go
	// without it.
	lateAfter = 20 * time.Millisecond
	// maxGrouped is how large a change may be to go together with others. Parts of files are
	// larger: others would wait for their bytes.
	maxGrouped = 64 << 10
	// maxPending bounds the changes without an answer.
	maxPending = 1 << 16
)

// publisher sends changes to the leader. Those that come while others are on their way wait
// for them and go together. The leader makes one entry of its log of what comes together, so
// every copy writes and syncs it once.
type publisher struct {
	js sender

	mu      sync.Mutex
	open    []*group // on their way
	waiting []*outgoing
	late    *time.Timer // of the first that waits
}

// sender sends one change, and says later what has become of it.
type sender interface {
	PublishMsgAsync(m *nats.Msg, opts ...jetstream.PublishOpt) (jetstream.PubAckFuture, error)
}

// group is changes that have gone together.
type group struct{ unanswered int }

// outgoing is one change.
type outgoing struct {
	m      *nats.Msg
	of     *group
	sent   chan struct{} // closed then
	answer jetstream.PubAckFuture
	err    error
}

func (o *outgoing) send(js sender) {
	o.answer, o.err = js.PublishMsgAsync(o.m, jetstream.WithRetryAttempts(0))
	close(o.sent)
}

// newPublisher gives one whose changes are answered within tryTimeout, or with an error.
func newPublisher(nc *nats.Conn) (*publisher, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncTimeout(tryTimeout), jetstream.WithPublishAsyncMaxPending(maxPending))
	if err != nil {
		return nil, err
	}
	return &publisher{js: js}, nil
}

// publish sends a change and waits until it is stored. One that ends with ctx before it was
// its turn does not go.
func (p *publisher) publish(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := &outgoing{m: m, sent: make(chan struct{})}
	p.send(p.enter(o))
	select {
	case <-o.sent:
	case <-ctx.Done():
		if p.leave(o) {
			return nil, context.Cause(ctx)
		}
		<-o.sent
	}
	defer p.answered(o)
	if o.err != nil {
		return nil, o.err
	}
	select {
	case ack := <-o.answer.Ok():
		return ack, nil
	case err := <-o.answer.Err():
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// enter lets a change wait for its turn, and returns what goes now.
func (p *publisher) enter(o *outgoing) []*outgoing {
	if len(o.m.Data) > maxGrouped {
		o.of = &group{unanswered: 1}
		return []*outgoing{o}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, o)
	now := p.next()
	if now == nil && p.late == nil {
		p.late = time.AfterFunc(lateAfter, p.giveUp)
	}
	return now
}

// leave reports whether a change still waited: it does not go any more.
func (p *publisher) leave(o *outgoing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, o)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	return i >= 0
}

func (p *publisher) send(all []*outgoing) {
	for _, o := range all {
		o.send(p.js)
	}
}

// next makes a group of what waits, if it may go. The caller holds the lock.
func (p *publisher) next() []*outgoing {
	if len(p.waiting) == 0 || len(p.open) >= maxGroups {
		return nil
	}
	if p.late != nil {
		p.late.Stop()
		p.late = nil
	}
	all := p.waiting
	p.waiting = nil
	g := &group{unanswered: len(all)}
	for _, o := range all {
		o.of = g
	}
	p.open = append(p.open, g)
	return all
}

// answered notes that a change has its answer, or that nobody waits for it any more.
func (p *publisher) answered(o *outgoing) {
	p.mu.Lock()
	var now []*outgoing
	if o.of.unanswered--; o.of.unanswered == 0 {
		if i := slices.Index(p.open, o.of); i >= 0 {
			p.open = slices.Delete(p.open, i, i+1)
			now = p.next()
		}
	}
	p.mu.Unlock()
	p.send(now)
}

// giveUp waits no longer for the groups that are on their way.
func (p *publisher) giveUp() {
	p.mu.Lock()
	p.open, p.late = nil, nil
	now := p.next()
	p.mu.Unlock()
	p.send(now)
}
