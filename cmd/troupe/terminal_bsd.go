//go:build unix && !linux

package main

import "golang.org/x/sys/unix"

// How macOS calls the settings of a terminal.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
