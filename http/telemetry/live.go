package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/http/live"
)

var (
	viewersDesc  = desc("live_watchers", "Live pictures that are open.")
	picturesDesc = desc("live_pictures_total", "Live pictures that were sent to clients.")
	bytesDesc    = desc("live_bytes_total", "Bytes of those pictures.")
	slowDesc     = desc("live_slow_total", "Viewers that were disconnected because they were too slow.")
	feedsDesc    = desc("live_feeds", "Readers of account feeds.")
)

// liveStats exports the counts of live pictures and feeds.
type liveStats struct{ stats func() live.Stats }

// Live reads the edge's numbers when a client fetches the metrics.
func (m *Metrics) Live(stats func() live.Stats) { m.registry.MustRegister(&liveStats{stats}) }

func (*liveStats) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{viewersDesc, picturesDesc, bytesDesc, slowDesc, feedsDesc} {
		to <- d
	}
}

func (l *liveStats) Collect(to chan<- prometheus.Metric) {
	s := l.stats()
	gauge(to, viewersDesc, float64(s.Viewers))
	gauge(to, feedsDesc, float64(s.Feeds))
	for d, n := range map[*prometheus.Desc]int64{picturesDesc: s.Pictures, bytesDesc: s.Bytes, slowDesc: s.Slow} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}
