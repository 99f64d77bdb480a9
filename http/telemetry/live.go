package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/http/live"
)

var (
	watchersDesc = desc("live_watchers", "Live pictures that somebody looks at.")
	picturesDesc = desc("live_pictures_total", "Pictures that were sent to those who look.")
	bytesDesc    = desc("live_bytes_total", "Bytes of those pictures.")
	slowDesc     = desc("live_slow_total", "Watchers that were cut off because they did not take what they asked for.")
	feedsDesc    = desc("live_feeds", "Readers of accounts' news.")
)

// liveStats tells how much is looked at while it goes on.
type liveStats struct{ stats func() live.Stats }

// Live reads the edge's numbers whenever somebody asks.
func (m *Metrics) Live(stats func() live.Stats) { m.registry.MustRegister(&liveStats{stats}) }

func (*liveStats) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{watchersDesc, picturesDesc, bytesDesc, slowDesc, feedsDesc} {
		to <- d
	}
}

func (l *liveStats) Collect(to chan<- prometheus.Metric) {
	s := l.stats()
	gauge(to, watchersDesc, float64(s.Watchers))
	gauge(to, feedsDesc, float64(s.Feeds))
	for d, n := range map[*prometheus.Desc]int64{picturesDesc: s.Pictures, bytesDesc: s.Bytes, slowDesc: s.Slow} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}
