package main

import (
	"context"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"

	"troupe/engine"
	"troupe/http/telemetry"
)

// observability is the flags of metrics and traces.
type observability struct {
	MetricsListen string `help:"Address of a separate listener for /metrics, such as 127.0.0.1:9464. Default: none." placeholder:"HOST:PORT"`
	Traces        string `help:"OpenTelemetry collector to send traces to (OTLP over HTTP), such as http://127.0.0.1:4318. Default: from the variables OTEL_EXPORTER_OTLP_…." placeholder:"URL"`
}

func (f *observability) check() error {
	if f.Traces != "" {
		if u, err := url.Parse(f.Traces); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return usage("--traces %q is not an address such as http://127.0.0.1:4318", f.Traces)
		}
	}
	if f.MetricsListen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.MetricsListen); err != nil {
		return usage("--metrics-listen %q is not an address such as 127.0.0.1:9464: %w", f.MetricsListen, err)
	}
	return nil
}

// lastSpans is how long a collector may take for what is left at the end.
const lastSpans = 3 * time.Second

// watched adds metrics to an engine, and traces if the operator wants them.
func (s *service) watched(eng engine.Engine) (engine.Engine, error) {
	s.metrics = telemetry.NewMetrics()
	eng = s.metrics.Engine(eng)
	t, err := s.Observability.trace(s.log)
	if t == nil || err != nil {
		return eng, err
	}
	s.observe = t.StartTask
	s.ends = append(s.ends, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			s.log.Warn().Err(err).Msg("traces are lost") // which is no fault of the stop
		}
		return nil
	})
	return t.Engine(eng), nil
}

// trace opens the way to the collector; nil: nobody wants traces.
func (f *observability) trace(log zerolog.Logger) (*telemetry.Traces, error) {
	if f.Traces == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn().Err(err).Msg("traces are lost")
	}))
	t, err := telemetry.OpenTraces(context.Background(), strings.TrimSuffix(f.Traces, "/"))
	if err != nil {
		return nil, usageError{err}
	}
	return t, nil
}

// showMetrics lets the metrics be fetched, where the operator wants it.
func (s *service) showMetrics() error {
	s.metrics.Build(ownVersion(), runtime.Version())
	s.metrics.Node(s.edge.Status, s.edge.Ready)
	s.metrics.Queue(s.node.QueueNumbers)
	s.metrics.Live(s.edge.Streams().Stats)
	s.metrics.Machine(s.machine)
	s.metrics.Deliveries(s.node.Notices, s.node.Schedules)
	if s.sealing != nil {
		s.metrics.Unreadable(s.sealing.Unreadable)
	}
	if s.backups != nil {
		s.metrics.Backups(s.backupNumbers)
	}
	if s.router != nil {
		s.metrics.Cluster(s.clusterNumbers)
	}
	if s.Observability.MetricsListen == "" {
		return nil
	}
	ln, err := net.Listen("tcp", s.Observability.MetricsListen)
	if err != nil {
		return usage("listen for metrics: %w", err)
	}
	s.log.Info().Stringer("address", ln.Addr()).Msg("metrics can be fetched")
	s.ends = append(s.ends, s.metrics.Serve(ln, s.log).Close)
	return nil
}
