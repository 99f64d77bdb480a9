package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/api"
)

var (
	oldestDesc      = desc("queue_oldest_seconds", "How long the queued task has waited that is due and has waited longest.")
	batchesDesc     = desc("batches", "Batches that have not ended, by what they do.", "state")
	batchesHeldDesc = desc("batches_held_seconds", "How long a limit has held back the batch that it has held back longest.")
)

// queue has the numbers of the queue and of batches.
type queue struct{ read func() api.QueueNumbers }

// Queue reads the numbers of the queue when a client fetches the metrics.
func (m *Metrics) Queue(read func() api.QueueNumbers) { m.registry.MustRegister(&queue{read}) }

func (*queue) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{oldestDesc, batchesDesc, batchesHeldDesc} {
		to <- d
	}
}

func (q *queue) Collect(to chan<- prometheus.Metric) {
	n := q.read()
	gauge(to, oldestDesc, n.Oldest.Seconds())
	gauge(to, batchesDesc, float64(n.Batches.Running-n.Batches.Held), "running")
	gauge(to, batchesDesc, float64(n.Batches.Held), "held")
	gauge(to, batchesDesc, float64(n.Batches.Paused), "paused")
	gauge(to, batchesHeldDesc, n.Batches.HeldFor.Seconds())
}
