package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/http"
)

var (
	watchersDesc = desc("live_watchers", "Live pictures that somebody looks at.")
	picturesDesc = desc("live_pictures_total", "Pictures that were sent to those who look.")
	bytesDesc    = desc("live_bytes_total", "Bytes of those pictures.")
	slowDesc     = desc("live_slow_total", "Watchers that were cut off because they did not take what they asked for.")
	feedsDesc    = desc("live_feeds", "Readers of accounts' news.")
)

// live tells how much is looked at while it goes on.
type live struct{ stats func() http.LiveStats }

// Live reads the edge's numbers whenever somebody asks.
func (m *Metrics) Live(stats func() http.LiveStats) { m.registry.MustRegister(&live{stats}) }

func (*live) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{watchersDesc, picturesDesc, bytesDesc, slowDesc, feedsDesc} {
		to <- d
	}
}

func (l *live) Collect(to chan<- prometheus.Metric) {
	s := l.stats()
	gauge(to, watchersDesc, float64(s.Watchers))
	gauge(to, feedsDesc, float64(s.Feeds))
	for d, n := range map[*prometheus.Desc]int64{picturesDesc: s.Pictures, bytesDesc: s.Bytes, slowDesc: s.Slow} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}
