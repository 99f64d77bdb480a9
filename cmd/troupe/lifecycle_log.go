package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
)

// logStart writes the first line of the log: the version and the settings. People read it
// below the greeting, and see all settings at the level debug alone.
func (s *service) logStart() {
	settings := zerolog.Dict().
		Str("listen", s.Listening.Listen).Bool("tls", s.Listening.TLSCert != "").Bool("insecureListen", s.Listening.InsecureListen).
		Strs("hosts", s.Listening.Host).Strs("origins", s.Listening.AllowOrigin).Strs("trustedProxies", s.Listening.TrustedProxy).
		Str("data", s.data).Str("config", s.Config).Int("workers", s.Workers).Int("workersPerBrowser", s.Sharing.WorkersPerBrowser).
		Str("isolation", string(s.Chromium.Isolation)).Dur("grace", s.Grace).Dur("fileTTL", s.FileTTL).
		Int("renewTasks", s.Renewal.Tasks).Dur("renewAge", s.Renewal.Age).Int64("renewMemory", s.Renewal.Memory).Int64("requestMemory", s.room.requests>>20).Int64("memory", s.room.process>>20).Int64("memoryAllowed", s.room.allowed>>20).
		Str("metricsListen", s.Observability.MetricsListen).Bool("s3", s.S3.on()).Str("node", s.Cluster.Node).
		Bool("sandbox", !s.Chromium.NoSandbox).Bool("allowPrivate", s.Chromium.Outbound.AllowPrivate).
		Strs("allowHosts", s.Chromium.Outbound.AllowHost).Strs("allowNetworks", s.Chromium.Outbound.AllowCIDR).Bool("upstreamProxy", s.Chromium.Outbound.UpstreamProxy != "").
		Bool("demo", s.Chromium.Outbound.Demo)
	version := ownVersion()
	if b, ok := debug.ReadBuildInfo(); ok {
		settings = settings.Str("go", b.GoVersion)
	}
	line := s.log.Info().Str("version", version)
	if s.Log.console(os.Stderr) && s.log.GetLevel() > zerolog.DebugLevel {
		line = line.Str("data", s.data).Int("workers", s.Workers)
	} else {
		line = line.Dict("settings", settings)
	}
	line.Msg("the service starts")
	if s.room.tight() {
		s.log.Warn().Int64("memoryAllowed", s.room.allowed>>20).Int64("requestMemory", s.room.requests>>20).
			Msg("the control group allows less than twice the memory that requests may take: raise its limit, or lower --request-memory")
	}
}

// logStop writes the last line of the log: why the service has stopped, how long that took
// and what it has cut off.
func (s *service) logStop(stop context.Context, err error) {
	reason := "it failed"
	var sig stopSignal
	switch {
	case errors.As(context.Cause(stop), &sig):
		reason = sig.Error()
	case s.stopped.IsZero():
		reason = "the start failed"
	}
	var took time.Duration
	if !s.stopped.IsZero() {
		took = time.Since(s.stopped)
	}
	s.log.Info().Str("reason", reason).Dur("took", took).Int("interrupted", s.interrupted).AnErr("error", err).Msg("the service has stopped")
}
