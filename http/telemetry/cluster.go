package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Cluster is what a node knows of all nodes, in numbers.
type Cluster struct {
	Size     int // nodes that there are to be, this one too
	Up       int // nodes that are there
	Majority bool
	Leads    bool          // this node leads what they keep in common
	Lag      int64         // changes that a node is behind, if this one leads them
	Age      time.Duration // of the oldest news of a node that is up

	Forwarded, Lost int64 // tasks that other nodes took, and of those the ones that ended with them
}

var (
	nodesDesc     = desc("cluster_nodes", "Nodes of the cluster, by whether they are up.", "state")
	majorityDesc  = desc("cluster_majority", "1 if this node can reach a majority of the nodes.")
	leaderDesc    = desc("cluster_leader", "1 on the node that leads the shared store.")
	lagDesc       = desc("cluster_lag_changes", "Changes that the node furthest behind lacks. The leader reports it.")
	newsDesc      = desc("cluster_news_age_seconds", "Longest time since the last message from a node that is up.")
	forwardedDesc = desc("cluster_forwarded_total", "Tasks of this node's clients that other nodes accepted.")
	lostDesc      = desc("cluster_lost_total", "Tasks of this node's clients that were lost with another node.")
)

// cluster tells of the nodes as this one sees them.
type cluster struct{ read func() Cluster }

// Cluster reads what is known of the nodes whenever somebody asks.
func (m *Metrics) Cluster(read func() Cluster) { m.registry.MustRegister(&cluster{read}) }

func (*cluster) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{nodesDesc, majorityDesc, leaderDesc, lagDesc, newsDesc, forwardedDesc, lostDesc} {
		to <- d
	}
}

func (c *cluster) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	gauge(to, nodesDesc, float64(s.Up), "up")
	gauge(to, nodesDesc, float64(max(s.Size-s.Up, 0)), "down") // those that never came, too
	gauge(to, majorityDesc, one(s.Majority))
	gauge(to, leaderDesc, one(s.Leads))
	gauge(to, lagDesc, float64(s.Lag))
	gauge(to, newsDesc, s.Age.Seconds())
	for d, n := range map[*prometheus.Desc]int64{forwardedDesc: s.Forwarded, lostDesc: s.Lost} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}
