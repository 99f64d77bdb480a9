package main

import "golang.org/x/sys/unix"

// How Linux calls the settings of a terminal.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
