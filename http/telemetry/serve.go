package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/scarce"
)

// Bounds of the listener that metrics are fetched from: a few collectors, every
// few seconds.
const (
	answerWithin = 10 * time.Second
	idleFor      = 2 * time.Minute
)

// Serve answers on a listener under /metrics until the server it returns is
// closed.
func (m *Metrics) Serve(ln net.Listener, log zerolog.Logger) *Server {
	mux := nethttp.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	s := &nethttp.Server{
		Handler: mux, ReadTimeout: answerWithin, WriteTimeout: answerWithin, IdleTimeout: idleFor, MaxHeaderBytes: 16 << 10,
	}
	go func() {
		if err := s.Serve(scarce.Listener{Listener: ln, Doing: "accept a request for metrics"}); !errors.Is(err, nethttp.ErrServerClosed) {
			log.Error().Err(err).Msg("the metrics listener failed")
		}
	}()
	return &Server{s}
}

// Server answers who asks for metrics.
type Server struct{ http *nethttp.Server }

// Close ends it. Requests in progress get a moment.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		if err := s.http.Close(); err != nil {
			return fmt.Errorf("close the metrics' listener: %w", err)
		}
	}
	return nil
}
