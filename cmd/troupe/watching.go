package main

import (
	"net"

	"github.com/rs/zerolog"

	"troupe/http/telemetry"
)

// watching is how the operator looks at the service from outside, as flags.
type watching struct {
	MetricsListen string `help:"Address of a listener of its own for /metrics, such as 127.0.0.1:9464. Default: none." placeholder:"HOST:PORT"`
}

func (f *watching) check() error {
	if f.MetricsListen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.MetricsListen); err != nil {
		return usage("--metrics-listen %q is not an address such as 127.0.0.1:9464: %w", f.MetricsListen, err)
	}
	return nil
}

// open lets the metrics be fetched, where the operator wants it. What it returns
// ends that.
func (f *watching) open(m *telemetry.Metrics, log zerolog.Logger) (end func() error, err error) {
	if f.MetricsListen == "" {
		return nil, nil
	}
	ln, err := net.Listen("tcp", f.MetricsListen)
	if err != nil {
		return nil, usage("listen for metrics: %w", err)
	}
	log.Info().Stringer("address", ln.Addr()).Msg("metrics can be fetched")
	return m.Serve(ln, log).Close, nil
}
