package engine

import (
	"sync"
	"time"
)

const (
	// leastResistance is how long a page may always take to let itself be left. On a machine
	// with nothing else to do, one that takes longer is still running something.
	leastResistance = 100 * time.Millisecond
	// mostResistance leaves time to replace the context after all.
	mostResistance = 500 * time.Millisecond
	// manyLeaves is how many times as long as others a page may take.
	manyLeaves = 4
	// paceHolds is how long what was measured says how busy the machine is.
	paceHolds = 30 * time.Second
)

// pace is how fast this machine is at the moment. A page may take as long to let itself be
// left as a new context would take: to wait costs no more than not to wait then. With a fixed
// time, full load makes contexts be replaced, which is more load.
type pace struct {
	mu             sync.Mutex
	replaced, left mean
}

// mean is that of what was measured last; what is older counts less and less.
type mean struct {
	took time.Duration
	at   time.Time
}

func (m *mean) add(took time.Duration, now time.Time) {
	if now.Sub(m.at) < paceHolds {
		took = (3*m.took + took) / 4
	}
	m.took, m.at = took, now
}

func (m *mean) lately(now time.Time) time.Duration {
	if now.Sub(m.at) >= paceHolds {
		return 0
	}
	return m.took
}

// replacing takes in that a context was replaced, leaving that a page was left.
func (p *pace) replacing(took time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced.add(took, now)
}

func (p *pace) leaving(took time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left.add(took, now)
}

// resistance is how long a page may take to let itself be left.
func (p *pace) resistance(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(p.replaced.lately(now), manyLeaves*p.left.lately(now), leastResistance), mostResistance)
}
