//go:build !linux

package browser

import "os/exec"

func startChild(cmd *exec.Cmd) error { return cmd.Start() }

func waitChild(cmd *exec.Cmd) { _ = cmd.Wait() }

// ReapOrphans does nothing here: the system's first process takes care of orphans.
func ReapOrphans() (stop func(), err error) { return func() {}, nil }
