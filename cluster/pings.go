package cluster

import (
	"context"
	"time"

	"troupe/cluster/link"
)

// How soon a node counts as down. Nobody takes the pings to one whose process was
// killed: that is half a second. A frozen one leaves two of them unanswered, each
// for pingTimeout. A browser host may be busy: less would call a slow node a dead
// one.
const (
	pingEvery   = 250 * time.Millisecond
	pingTimeout = 1500 * time.Millisecond
	pingMisses  = 2
	// pingLate is how much later than that a process notices at most that a ping has no
	// answer. A process that notices later has stood still itself: the ping counts for nothing then.
	pingLate = 500 * time.Millisecond
	// maxLatePings bounds how many pings in a row count for nothing: more than are
	// on their way at once.
	maxLatePings = 8
)

// watch pings a node until it is forgotten. A ping does not wait for the one before it:
// a process that was just killed may leave one unanswered, and the next ones fail at
// once.
func (p *presence) watch(one *peer) {
	type result struct {
		n    int
		boot string
		err  error
		sent time.Time
	}
	results := make(chan result, 16) // more than are on their way at once
	every := pingEvery
	tick := time.NewTimer(every)
	defer tick.Stop()
	misses, missed := 0, 0 // in a row; the number of the last one
	late := 0              // pings in a row that say nothing
	for n := 1; ; {
		select {
		case <-p.base.Done():
			return
		case <-one.care.wake:
			if every > pingEvery { // else the next one is due soon, whatever begins meanwhile
				every = pingEvery
				tick.Reset(every)
			}
			continue
		case <-tick.C:
			every = p.pingEvery(one, misses)
			tick.Reset(every)
			if every == pingNever {
				if p.forgets(one) {
					return
				}
				continue
			}
			number := n
			n++
			p.wg.Go(func() {
				ctx, cancel := context.WithTimeout(p.base, pingTimeout)
				defer cancel()
				sent := time.Now()
				boot, err := p.ping(ctx, one.name)
				select {
				case results <- result{number, boot, err, sent}:
				case <-p.base.Done():
				}
			})
			continue
		case r := <-results:
			switch {
			case r.err != nil && p.answeredSince(one, r.sent):
				continue
			case r.err != nil && time.Since(r.sent) > pingTimeout+pingLate && late < maxLatePings:
				late++
				continue
			}
			late = 0
			switch {
			case r.err != nil:
				misses, missed = misses+1, max(missed, r.n)
			case r.n > missed:
				misses = 0
			default: // older than a miss: nothing new
				continue
			}
			if !p.recordPing(one, r.boot, misses) {
				return
			}
		}
	}
}

// recordPing takes over the result of a ping. It reports whether to ping the node again.
func (p *presence) recordPing(one *peer, boot string, misses int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.base.Err() != nil, p.peers[one.name] != one: // or it has made room for another
		return false
	case misses >= pingMisses:
		p.markDown(one)
	case misses == 0 && one.up && boot != one.inventory.Boot:
		p.markDown(one) // its inventory announces the new process
	case misses == 0 && !one.up && boot == one.inventory.Boot && !one.inventory.Leaving:
		p.markUp(one)
	}
	return !p.forgetOld(one)
}

// forgets reports whether a node is not known any more, and forgets it if it is time.
func (p *presence) forgets(one *peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base.Err() != nil || p.peers[one.name] != one || p.forgetOld(one)
}

// forgetOld forgets a node that has been down for long: a worker node that has left does
// not come back under its name. The caller holds the lock.
func (p *presence) forgetOld(one *peer) bool {
	most := forgetAfter
	if one.inventory.Role == link.RoleWorker && one.inventory.Leaving {
		most = forgetLeft
	}
	if one.up || time.Since(one.since) <= most {
		return false
	}
	delete(p.peers, one.name)
	return true
}

// answeredSince reports whether a node has shown since then that it is there.
func (p *presence) answeredSince(one *peer, then time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return one.answered.After(then)
}

// answers takes the answer of a node that was thought to be down: it is there, in this
// process.
func (p *presence) answers(node, boot string) {
	p.noteMessage(node, boot, time.Now())
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.peers[node]; one != nil {
		one.answered = time.Now()
	}
}
