package telemetry

import (
	nethttp "net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/actors/api"
	"troupe/engine"
)

const namespace = "troupe"

// Metrics counts events where they happen. Numbers that the service has anyway are read
// when a client fetches the metrics.
type Metrics struct {
	registry *prometheus.Registry

	rejected, tasks, restarts, actionErrors, evidence *prometheus.CounterVec
	duration, actions                                 *prometheus.HistogramVec
	wait, queuedWait                                  prometheus.Histogram
}

// NewMetrics makes metrics. They count from when their parts are given to the
// edge and to the actors.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets ...float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
	}
	m.rejected = counter("rejected_total", "Requests that were answered with a refusal, by its code.", "reason")
	m.tasks = counter("tasks_total", "Tasks that were played, by how they ended.", "status", "plan")
	m.restarts = counter("worker_restarts_total", "Browsers that were started in the place of another one, by why it had to be.", "reason")
	m.actionErrors = counter("action_errors_total", "Actions that failed.", "type", "code")
	m.evidence = counter("evidence_total", "Files that show how a task went, by what they are and whether they could be kept.", "kind", "result")
	m.duration = prometheus.NewHistogramVec(histogram("task_duration_seconds", "Time from the start of a task's first action to its end.",
		.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 600, 1800, 3600), []string{"status"})
	m.actions = prometheus.NewHistogramVec(histogram("action_duration_seconds", "Time that one action took.",
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30), []string{"type"})
	waits := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 43200}
	m.wait = prometheus.NewHistogram(histogram("queue_wait_seconds", "Time from the arrival of a request, or from when a task of the queue was due, until a browser began with the task.", waits...))
	m.queuedWait = prometheus.NewHistogram(histogram("queued_wait_seconds", "The same for tasks of the queue alone.", waits...))
	m.registry.MustRegister(m.rejected, m.tasks, m.restarts, m.actionErrors, m.evidence, m.duration, m.actions, m.wait, m.queuedWait, processes{}, usedUp{},
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: liveHeap})), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// liveHeap is what the last collection has left: the other numbers of the heap count garbage.
var liveHeap = regexp.MustCompile("^/gc/heap/live:bytes$")

// Build says which build of the service this is.
func (m *Metrics) Build(version, goVersion string) {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "Always 1. The labels name the version of the service, and that of Go."}, []string{"version", "goversion"})
	build.WithLabelValues(version, goVersion).Set(1)
	m.registry.MustRegister(build)
}

// Node reads a node's numbers, and whether it is ready, whenever somebody asks.
func (m *Metrics) Node(status func() api.Status, ready func() bool) {
	m.registry.MustRegister(&node{status, ready})
}

// Refused counts a refusal by the edge.
func (m *Metrics) Refused(c engine.Code) { m.rejected.WithLabelValues(string(c)).Inc() }

// Handler answers with the metrics as text.
func (m *Metrics) Handler() nethttp.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 4})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	workersDesc  = desc("workers", "Workers by their state.", "state")
	queueDesc    = desc("queue_size", "Requests that wait for a worker.")
	queuedDesc   = desc("queued_tasks", "Tasks that wait in the queue.")
	sessionsDesc = desc("sessions_active", "Sessions that hold a worker.")
	drainingDesc = desc("draining", "1 while the service accepts no tasks because it is stopping.")
	readyDesc    = desc("ready", "1 if /readyz is 200.")
	memoryDesc   = desc("chrome_rss_bytes", "Resident memory of all browser processes. Shared memory is counted for each process.")
	processDesc  = desc("chrome_processes", "Processes of all browsers.")
)

// gauge tells one number.
func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// node has the numbers of the actors.
type node struct {
	status func() api.Status
	ready  func() bool
}

func (*node) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{workersDesc, queueDesc, queuedDesc, sessionsDesc, drainingDesc, readyDesc} {
		to <- d
	}
}

func (n *node) Collect(to chan<- prometheus.Metric) {
	s := n.status()
	for state, number := range map[api.State]int{
		api.Online: s.Online, api.Reserved: s.Reserved, api.Busy: s.Busy, api.Offline: s.Offline,
	} {
		gauge(to, workersDesc, float64(number), string(state))
	}
	gauge(to, queueDesc, float64(s.Waiting))
	gauge(to, queuedDesc, float64(s.Queued))
	gauge(to, sessionsDesc, float64(s.Sessions))
	gauge(to, drainingDesc, one(s.Draining))
	gauge(to, readyDesc, one(n.ready()))
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// processes has what the browsers' processes need. The service starts no
// others.
type processes struct{}

func (processes) Describe(to chan<- *prometheus.Desc) {
	to <- memoryDesc
	to <- processDesc
}

func (processes) Collect(to chan<- prometheus.Metric) {
	if sum, ok := Browsers(); ok { // else the system does not tell
		gauge(to, memoryDesc, float64(sum.Memory))
		gauge(to, processDesc, float64(sum.Number))
	}
}
