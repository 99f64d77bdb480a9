package cluster

import (
	"encoding/binary"
	"errors"

	"github.com/nats-io/nats-server/v2/server"

	"troupe/actors/api"
	"troupe/cluster/damage"
	"troupe/cluster/link"
	"troupe/cluster/member"
	"troupe/cluster/store"
)

// Leads reports whether a node leads the store.
func Leads(m *member.Member) bool {
	return m.Engine().JetStreamIsStreamLeader("$G", store.RecordStream)
}

// Waits is how many wait at a node for news of a task.
func Waits(c *Router) int64 { return c.waits.Load() }

// Voted is whom a node has voted for last, as leader of the cluster, and in which
// term; and whether it is a candidate now.
func Voted(m *member.Member) (who string, term uint64, candidate bool) {
	for _, groups := range *m.Engine().Raftz(&server.RaftzOptions{GroupFilter: "_meta_"}) {
		for _, g := range groups {
			return g.Vote, g.Term, g.State == server.Candidate.String()
		}
	}
	return "", 0, false
}

// Asked is how many questions of other nodes a node has not answered yet.
func Asked(c *Router) int { return c.transport.Answering() }

// CountsNodes reports whether a node counts so many for the majority, of the nodes and
// of those that keep the store. What the leader knows another one may not have heard yet.
func CountsNodes(m *member.Member, n int) bool {
	groups := 0
	for _, account := range []string{"", "$G"} { // the engine's own, and the store's
		for _, all := range *m.Engine().Raftz(&server.RaftzOptions{AccountFilter: account}) {
			for _, g := range all {
				if g.Size != n {
					return false
				}
				groups++
			}
		}
	}
	return groups > 1
}

// Hosts reports whether a node has a task of another one's client.
func Hosts(c *Router, id string) bool {
	c.hosted.mu.Lock()
	defer c.hosted.mu.Unlock()
	return c.hosted.running[id] != nil
}

// Busy lets a node do as much for others as it can, until calm.
func Busy(c *Router) (calm func()) {
	return c.transport.Occupy()
}

// CancelUnanswered cancels a task of this node's clients and does not answer, until
// release, to the node that asks whether it may begin: with said, the answer is that
// it may, and still on its way.
func CancelUnanswered(c *Router, id string, said bool, asked func()) (release func()) {
	c.inflight.mu.Lock()
	one := c.inflight.now[id]
	asked()
	one.mu.Lock()
	one.started = said
	one.mu.Unlock()
	one.stop(api.CauseAsked)
	return c.inflight.mu.Unlock
}

// Raw is a message as it is on the line.
func Raw(k byte, parts ...[]byte) []byte {
	b := []byte{written(&link.Fault{})[0], k}
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return b
}

// Kinds are those of all messages.
func Kinds() (all []byte) {
	for k := range 256 {
		if _, err := link.Decode(Raw(byte(k))); !errors.Is(err, link.ErrVersion) {
			all = append(all, byte(k))
		}
	}
	return all
}

// What some messages are on the line.
var (
	KindExecute      = written(&link.ForwardedExecute{})[1]
	KindExecuted     = written(&api.Executed{})[1]
	KindPayload      = written(&link.PayloadRef{})[1]
	KindFault        = written(&link.Fault{})[1]
	KindInventory    = written(&link.Inventory{})[1]
	KindRemoveWorker = written(&api.RemoveWorker{})[1]
)

func written(m any) []byte {
	b, err := link.Encode(m)
	if err != nil {
		panic(err)
	}
	return b
}

// Seen is how many tasks of other nodes a node remembers.
func Seen(c *Router) int {
	c.hosted.mu.Lock()
	defer c.hosted.mu.Unlock()
	return len(c.hosted.seen)
}

// Marked is how far a node has written down that its copy of the store is.
func Marked(m *member.Member) uint64 {
	k, err := damage.ReadMarks(m.Dir())
	if err != nil {
		return 0
	}
	return k.Last["jetstream/$G/streams/"+store.RecordStream]
}

// GiveUp lets the engine of a node give up its copy, as it does on a full disk.
func GiveUp(m *member.Member) error { return m.Engine().ShutdownJetStream() }

// NoRoom lets a node find its disk full, until free.
func NoRoom(m *member.Member) (free func()) {
	m.SimulateFullDisk(true)
	return func() { m.SimulateFullDisk(false) }
}

// Repeats is how many requests with a key wait here for the answer to another one.
func (c *Router) Repeats() (n int) {
	c.joined.mu.Lock()
	defer c.joined.mu.Unlock()
	for _, of := range c.joined.repeats {
		n += of
	}
	return n
}

// Carried is how many views are open here, and how many clients of this node are carried.
func (c *Router) Carried() (views, clients int) {
	c.served.mu.Lock()
	defer c.served.mu.Unlock()
	c.carried.mu.Lock()
	defer c.carried.mu.Unlock()
	return len(c.served.now), len(c.carried.now)
}
