package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// interruptedError ends a command with the exit code of a program that a signal has ended.
type interruptedError struct {
	by  stopSignal
	err error // what the command made of it
}

func (e interruptedError) Error() string { return e.err.Error() }
func (e interruptedError) Unwrap() error { return e.err }

// code is 130 after Ctrl-C.
func (e interruptedError) code() int {
	if n, ok := e.by.signal.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailed
}

// interrupted makes the error of a command whose context a signal has ended an
// [interruptedError].
func interrupted(ctx context.Context, err error) error {
	var by stopSignal
	if err == nil || !errors.As(context.Cause(ctx), &by) {
		return err
	}
	return interruptedError{by, err}
}

// say tells what became of the command, if there is more to tell than that it was stopped.
func (e interruptedError) say(w *environment) {
	var by stopSignal
	switch {
	case errors.Is(e.err, errTaskFailed): // the result is printed
	case errors.Is(e.err, context.Canceled), errors.As(e.err, &by): // what waited says no more
		fmt.Fprintln(w.stderr, "troupe: interrupted")
	default:
		fmt.Fprintln(w.stderr, "troupe: "+e.err.Error())
	}
}

// interruptible reads until a context ends, also while nothing comes.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	type read struct {
		b   []byte
		err error
	}
	got := make(chan read, 1)
	go func() {
		b := make([]byte, len(p))
		n, err := r.in.Read(b)
		got <- read{b[:n], err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case one := <-got:
		return copy(p, one.b), one.err
	}
}

// fileOf is the file that something is read from, or written to.
func fileOf(of any) (*os.File, bool) {
	if r, ok := of.(interruptible); ok {
		of = r.in
	}
	f, ok := of.(*os.File)
	return f, ok
}
