//go:build !unix

package main

import "os"

// terminal reports whether a person sees what is written there, or types what is read.
func terminal(of any) bool {
	f, ok := fileOf(of)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// columns is how many characters a line of a terminal has: here nobody says.
func columns(any) int { return 0 }

// hideInput does nothing here.
func hideInput(any) (shown func()) { return func() {} }
