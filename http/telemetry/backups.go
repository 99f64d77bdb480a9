package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	backupLastDesc     = desc("backup_last_success_timestamp_seconds", "When the records of the last good backup were read, in seconds since 1970; 0: there is none.")
	backupEveryDesc    = desc("backup_interval_seconds", "How often a backup is due.")
	backupFailedDesc   = desc("backup_failed", "1 if the last backup failed.")
	backupFailuresDesc = desc("backup_failures_total", "Backups of this process that failed.")
	backupTookDesc     = desc("backup_duration_seconds", "How long the last good backup took, until it was read back.")
	backupBytesDesc    = desc("backup_bytes", "How much was written for the last good backup.")
	backupRecordsDesc  = desc("backup_records", "How many records the last good backup has.")
)

// Backups is what is known of backups. All nodes of a cluster know the same of the last one.
type Backups struct {
	Every          time.Duration // zero: none is made by itself
	Last           time.Time     // zero: there is none
	Took           time.Duration
	Bytes, Records int64
	Failed         bool
	Failures       int64
}

// backups reports it.
type backups struct{ read func() Backups }

// Backups reads what is known of backups when a client fetches the metrics.
func (m *Metrics) Backups(read func() Backups) { m.registry.MustRegister(&backups{read}) }

func (*backups) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{backupLastDesc, backupEveryDesc, backupFailedDesc, backupFailuresDesc, backupTookDesc, backupBytesDesc, backupRecordsDesc} {
		to <- d
	}
}

func (b *backups) Collect(to chan<- prometheus.Metric) {
	now := b.read()
	to <- prometheus.MustNewConstMetric(backupFailuresDesc, prometheus.CounterValue, float64(now.Failures))
	gauge(to, backupFailedDesc, one(now.Failed))
	if now.Every > 0 {
		gauge(to, backupEveryDesc, now.Every.Seconds())
	}
	if now.Last.IsZero() {
		if now.Every > 0 { // then there should be one
			gauge(to, backupLastDesc, 0)
		}
		return
	}
	gauge(to, backupLastDesc, float64(now.Last.Unix()))
	gauge(to, backupTookDesc, now.Took.Seconds())
	gauge(to, backupBytesDesc, float64(now.Bytes))
	gauge(to, backupRecordsDesc, float64(now.Records))
}
