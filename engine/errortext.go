package engine

import (
	"io/fs"
	"os"
	"strings"
)

// ErrorText is an error's text without the paths of files. Clients read it, and
// where the service keeps its files is only for the log.
func ErrorText(err error) string {
	text := err.Error()
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case *fs.PathError:
			text = strings.ReplaceAll(text, e.Error(), e.Op+": "+e.Err.Error())
			text = hide(text, e.Path)
		case *os.LinkError:
			text = strings.ReplaceAll(text, e.Error(), e.Op+": "+e.Err.Error())
			text = hide(hide(text, e.Old), e.New)
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		}
	}
	walk(err)
	return text
}

// hide replaces a path in a text. A single name is left alone: it may be a word.
func hide(text, path string) string {
	if !strings.ContainsRune(path, os.PathSeparator) {
		return text
	}
	return strings.ReplaceAll(text, path, "a file")
}

// Plural is the form of a word that goes with the number n.
func Plural[N ~int | ~int64 | ~uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
