// Package fsm is what a worker decides: one pure function, [Step], takes a
// condition and an event, and gives the next condition and what has to be done. It
// has no actors, no clock and no browser. The scripts in testdata/state show each
// way through it, and docs/states.md draws it.
package fsm
