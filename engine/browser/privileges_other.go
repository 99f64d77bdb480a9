//go:build !linux

package browser

import (
	"os/exec"

	"github.com/rs/zerolog"
)

func startPlain(cmd *exec.Cmd, _ zerolog.Logger) error { return startChild(cmd) }

// keepDescriptors lets no program that is started from now on have a file of
// ours, unless it is handed over.
func keepDescriptors() { keepEach("/dev/fd") }
