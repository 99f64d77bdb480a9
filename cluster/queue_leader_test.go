package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
)

// leadStore has a node lead the store.
func leadStore(t testing.TB, m *member.Member) {
	t.Helper()
	asked := time.Time{}
	soon(t, "the node leads the store", func() bool {
		if !cluster.Leads(m) && time.Since(asked) > 5*time.Second { // or there was no leader to answer
			asked = time.Now()
			_, err := m.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+store.RecordStream,
				fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, m.Name()), time.Second)
			if err != nil {
				t.Log(err)
			}
		}
		return cluster.Leads(m)
	})
}

// The node that leads the store orders the queue. While it has no queue, another one does.
func TestTheLeaderOrdersTheQueue(t *testing.T) {
	t.Parallel()
	members := joinAll(t, configs(t, 3))
	openStore(t, members[0]) // which makes the stream
	leadStore(t, members[2])
	var nodes []*httpNode
	began := time.Now()
	for _, m := range members {
		nodes = append(nodes, openHTTPNode(t, m, 1))
	}
	slow := time.Since(began) > time.Second // the others wait for two
	for _, h := range nodes {
		soon(t, "the leader of the store orders the queue", func() bool {
			at := h.Node.QueueNode()
			if at != "" && at != members[2].Name() && !slow {
				t.Fatalf("%s orders the queue, and %s leads the store", at, members[2].Name())
			}
			return at != ""
		})
	}
	nodes[2].company.Close()
	nodes[2].Node.Stop()
	soon(t, "another node orders the queue", func() bool {
		at := nodes[0].Node.QueueNode()
		return at != "" && at != members[2].Name()
	})
}
