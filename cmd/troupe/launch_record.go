package main

import (
	"context"
	"errors"
	"sync"

	"troupe/engine"
	"troupe/engine/browser"
)

// launchRecord remembers how starting browsers goes: whether the service should give
// up at its start, and what to say while it has no browser.
type launchRecord struct {
	engine.Engine

	mu      sync.Mutex
	up      bool // a browser has started
	pending int
	failed  int   // starts in a row that could not have gone otherwise
	last    error // of the last start; nil: it worked
}

// hopelessAfter is after how many failures in a row the first start is given up.
// More than one, because the machine may be short of something for a moment.
const hopelessAfter = 3

// Launch implements [engine.Engine].
func (l *launchRecord) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	l.mu.Lock()
	l.pending++
	l.mu.Unlock()
	in, err := l.Engine.Launch(ctx, worker)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // the service stops
		return in, err
	}
	switch l.last = err; {
	case err == nil:
		l.up, l.failed = true, 0
	case errors.As(err, new(*browser.FolderError)), errors.Is(err, browser.ErrNotExecuted), errors.Is(err, browser.ErrEndedAtOnce):
		l.failed++
	}
	return in, err
}

// hopeless returns why no browser will ever start; nil: one has, or may yet.
func (l *launchRecord) hopeless() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up || l.pending > 0 || l.failed < hopelessAfter {
		return nil
	}
	return l.last
}

// notice says for everybody to read why browsers do not start; empty: they do.
// What the browser said is for the log alone, and paths are: but for that of a folder which
// the operator has to mend.
func (l *launchRecord) notice() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var folder *browser.FolderError
	switch {
	case l.last == nil:
		return ""
	case errors.As(l.last, &folder):
		return "browsers do not start: " + folder.Error()
	case errors.Is(l.last, browser.ErrNotExecuted):
		return "browsers do not start: the program cannot be executed; see the log"
	case errors.Is(l.last, browser.ErrEndedAtOnce):
		return "browsers do not start: the program ends at once; see the log"
	case errors.Is(l.last, context.DeadlineExceeded):
		return "browsers do not start: the program does not answer in time; see the log"
	}
	return "browsers do not start; see the log"
}
