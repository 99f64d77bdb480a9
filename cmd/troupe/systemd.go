package main

import (
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

// tellSystemd reports what the service is doing, where systemd has asked for it
// (Type=notify). Anywhere else it does nothing.
func tellSystemd(log zerolog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn().Err(err).Str("state", state).Msg("failed to notify systemd")
	}
}
