//go:build unix

package main

import (
	"golang.org/x/sys/unix"
)

// terminal reports whether a person sees what is written there, or types what is read.
func terminal(of any) bool {
	f, ok := fileOf(of)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// columns is how many characters a line of a terminal has; 0: it is none, or does not say.
func columns(of any) int {
	f, ok := fileOf(of)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// hideInput lets a terminal not show what is typed, until the function is called.
func hideInput(of any) (shown func()) {
	f, ok := fileOf(of)
	if !ok {
		return func() {}
	}
	was, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return func() {}
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(f.Fd()), setTermios, &hidden); err != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(int(f.Fd()), setTermios, was) }
}
