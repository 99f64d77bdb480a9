package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Cluster is what a node knows of all nodes, in numbers.
type Cluster struct {
	Size     int // nodes that take part, this one too
	Up       int // nodes that are there
	Outside  int // nodes that are there, and of a release that this one does not understand
	Majority bool
	Writes   bool          // what all keep in common can be written here
	Losses   int           // nodes that may still be lost before it cannot, whichever they are
	State    string        // of this node, to that
	States   []string      // all that there are
	Copies   int           // nodes that keep it
	Current  int           // of them, those that have all of it and are there
	Leads    bool          // this node leads it
	Lag      int64         // changes that a node is behind, if this one leads it
	Age      time.Duration // of the oldest news of a node that is up

	Forwarded, Lost int64 // tasks that other nodes took, and of those the ones that ended with them
}

var (
	nodesDesc     = desc("cluster_nodes", "Nodes of the cluster, by whether they are up.", "state")
	majorityDesc  = desc("cluster_majority", "1 if this node can reach a majority of the nodes.")
	writesDesc    = desc("cluster_writes", "1 if this node can write the shared store.")
	lossesDesc    = desc("cluster_losses", "Nodes that may still be lost, whichever they are, before nobody can write.")
	stateDesc     = desc("cluster_state", "1 for the health of this node.", "state")
	copiesDesc    = desc("cluster_copies", "Nodes that keep the shared store, by whether their copy is current.", "state")
	leaderDesc    = desc("cluster_leader", "1 on the node that leads the shared store.")
	lagDesc       = desc("cluster_lag_changes", "Changes that the node furthest behind lacks. The leader reports it.")
	newsDesc      = desc("cluster_news_age_seconds", "Longest time since the last message from a node that is up.")
	forwardedDesc = desc("cluster_forwarded_total", "Tasks of this node's clients that other nodes accepted.")
	lostDesc      = desc("cluster_lost_total", "Tasks of this node's clients that were lost with another node.")
)

// cluster has the nodes as this one sees them.
type cluster struct{ read func() Cluster }

// Cluster reads what is known of the nodes whenever somebody asks.
func (m *Metrics) Cluster(read func() Cluster) { m.registry.MustRegister(&cluster{read}) }

func (*cluster) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{nodesDesc, majorityDesc, writesDesc, lossesDesc, stateDesc, copiesDesc, leaderDesc, lagDesc, newsDesc, forwardedDesc, lostDesc} {
		to <- d
	}
}

func (c *cluster) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	gauge(to, nodesDesc, float64(s.Up), "up")
	gauge(to, nodesDesc, float64(max(s.Size-s.Up-s.Outside, 0)), "down") // those that never came, too
	gauge(to, nodesDesc, float64(s.Outside), "outside")
	gauge(to, majorityDesc, one(s.Majority))
	gauge(to, writesDesc, one(s.Writes))
	gauge(to, lossesDesc, float64(s.Losses))
	for _, state := range s.States {
		gauge(to, stateDesc, one(state == s.State), state)
	}
	gauge(to, copiesDesc, float64(s.Current), "current")
	gauge(to, copiesDesc, float64(s.Copies-s.Current), "missing")
	gauge(to, leaderDesc, one(s.Leads))
	gauge(to, lagDesc, float64(s.Lag))
	gauge(to, newsDesc, s.Age.Seconds())
	for d, n := range map[*prometheus.Desc]int64{forwardedDesc: s.Forwarded, lostDesc: s.Lost} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}
