package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"troupe/engine/scarce"
)

var (
	diskFreeDesc    = desc("disk_free_bytes", "Space on the data folder's disk that the service can still use.")
	diskSizeDesc    = desc("disk_size_bytes", "Size of the data folder's disk.")
	usedUpDesc      = desc("used_up_total", "Times that the system has refused the process something that is used up, by what it is.", "what")
	certificateDesc = desc("certificate_expires_timestamp_seconds", "When the TLS certificate in use expires, in seconds since 1970.")
)

// Machine is what the service needs of the machine it runs on.
type Machine struct {
	DiskFree, DiskSize int64     // bytes; both 0: the system does not tell
	Certificate        time.Time // when it ends; zero: no certificate
}

// usedUp is how often the system has refused something to the process.
type usedUp struct{}

func (usedUp) Describe(to chan<- *prometheus.Desc) { to <- usedUpDesc }

func (usedUp) Collect(to chan<- prometheus.Metric) {
	for what, n := range scarce.Process.Numbers() {
		to <- prometheus.MustNewConstMetric(usedUpDesc, prometheus.CounterValue, float64(n), string(what))
	}
}

// machine reports it.
type machine struct{ read func() Machine }

// Machine reads the machine when a client fetches the metrics.
func (m *Metrics) Machine(read func() Machine) { m.registry.MustRegister(&machine{read}) }

func (*machine) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{diskFreeDesc, diskSizeDesc, certificateDesc} {
		to <- d
	}
}

func (m *machine) Collect(to chan<- prometheus.Metric) {
	now := m.read()
	if now.DiskSize > 0 {
		gauge(to, diskFreeDesc, float64(now.DiskFree))
		gauge(to, diskSizeDesc, float64(now.DiskSize))
	}
	if !now.Certificate.IsZero() {
		gauge(to, certificateDesc, float64(now.Certificate.Unix()))
	}
}
