package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/api"
)

var (
	noticesWaitingDesc = desc("notices_waiting", "Notices that wait to be delivered.")
	noticesOldestDesc  = desc("notices_oldest_seconds", "How long the notice has waited that has waited longest.")
	noticesDesc        = desc("notices_total", "Notices that ended, by how.", "status")
	endpointsOffDesc   = desc("notice_endpoints_off", "Receivers of notices that are switched off.")

	schedulesDesc     = desc("schedules", "Schedules by their state.", "state")
	schedulesLateDesc = desc("schedules_late_seconds", "How late the run is that should have begun first and has not.")
	scheduleTimesDesc = desc("schedule_times_total", "Times of schedules, by what became of them.", "status")
)

// deliveries has the numbers of notices and of schedules.
type deliveries struct {
	notices   func() api.NoticeNumbers
	schedules func() api.ScheduleNumbers
}

// Deliveries reads the numbers of notices and of schedules when a client fetches the metrics.
func (m *Metrics) Deliveries(notices func() api.NoticeNumbers, schedules func() api.ScheduleNumbers) {
	m.registry.MustRegister(&deliveries{notices, schedules})
}

func (*deliveries) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{noticesWaitingDesc, noticesOldestDesc, noticesDesc, endpointsOffDesc, schedulesDesc, schedulesLateDesc, scheduleTimesDesc} {
		to <- d
	}
}

func (d *deliveries) Collect(to chan<- prometheus.Metric) {
	counts := func(desc *prometheus.Desc, all map[string]int64) {
		for status, n := range all {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), status)
		}
	}
	n := d.notices()
	gauge(to, noticesWaitingDesc, float64(n.Waiting))
	gauge(to, noticesOldestDesc, n.Oldest.Seconds())
	gauge(to, endpointsOffDesc, float64(n.EndpointsOff))
	counts(noticesDesc, map[string]int64{string(api.NoticeDelivered): n.Delivered, string(api.NoticeFailed): n.Failed, string(api.NoticeOff): n.Off})
	s := d.schedules()
	gauge(to, schedulesDesc, float64(s.Active), "active")
	gauge(to, schedulesDesc, float64(s.Paused), "paused")
	gauge(to, schedulesLateDesc, s.Late.Seconds())
	counts(scheduleTimesDesc, map[string]int64{"begun": s.Begun, string(api.RunSkipped): s.Skipped, string(api.RunMissed): s.Missed})
}
