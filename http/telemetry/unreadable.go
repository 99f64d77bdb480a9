package telemetry

import "github.com/prometheus/client_golang/prometheus"

var unreadableDesc = desc("unreadable_records", "Sealed records that the present key does not open, by what they hold.", "holds")

// unreadable reports the records that cannot be opened.
type unreadable struct{ read func() map[string]int }

// Unreadable reads how many records cannot be opened, by what they hold, when a client
// fetches the metrics.
func (m *Metrics) Unreadable(read func() map[string]int) {
	m.registry.MustRegister(&unreadable{read})
}

func (*unreadable) Describe(to chan<- *prometheus.Desc) { to <- unreadableDesc }

func (u *unreadable) Collect(to chan<- prometheus.Metric) {
	for holds, n := range u.read() {
		to <- prometheus.MustNewConstMetric(unreadableDesc, prometheus.GaugeValue, float64(n), holds)
	}
}
