package cluster

import (
	"crypto/tls"

	"github.com/nats-io/nats-server/v2/server"

	"troupe/actors"
)

// Leads reports whether a node leads the store.
func Leads(m *Member) bool { return m.server.JetStreamIsStreamLeader("$G", storeStream) }

// Waits is how many wait at a node for news of a task.
func Waits(c *Company) int64 { return c.waits.Load() }

// Transport is the TLS that a node speaks.
func (c Config) Transport() (*tls.Config, error) { return c.transport() }

// Voted is whom a node has voted for last, as leader of the cluster, and in which
// term; and whether it is a candidate now.
func Voted(m *Member) (who string, term uint64, candidate bool) {
	for _, groups := range *m.server.Raftz(&server.RaftzOptions{GroupFilter: "_meta_"}) {
		for _, g := range groups {
			return g.Vote, g.Term, g.State == server.Candidate.String()
		}
	}
	return "", 0, false
}

// HasBegun reports whether a task of this node's clients has begun at another one.
func HasBegun(c *Company, id string) bool {
	one := tripOf(c, id)
	if one == nil {
		return false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.begun
}

// CancelUnanswered cancels a task of this node's clients and does not answer, until
// release, to the node that asks whether it may begin.
func CancelUnanswered(c *Company, id string, asked func()) (release func()) {
	one := tripOf(c, id)
	c.trips.mu.Lock()
	asked()
	one.stop(actors.CauseAsked)
	return c.trips.mu.Unlock
}

func tripOf(c *Company, id string) *trip {
	c.trips.mu.Lock()
	defer c.trips.mu.Unlock()
	return c.trips.now[id]
}
