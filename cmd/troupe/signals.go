package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals returns a context that ends with the first signal to stop, and one
// that ends with the second. A third one is the system's to deal with.
func signals(ctx context.Context, more ...os.Signal) (stop, forced context.Context, forget func()) {
	stop, stopped := context.WithCancelCause(ctx)
	forced, force := context.WithCancelCause(context.WithoutCancel(ctx))
	got := make(chan os.Signal, 2)
	all := append([]os.Signal{syscall.SIGINT, syscall.SIGTERM}, more...)
	signal.Notify(got, all...)
	done := make(chan struct{})
	go func() {
		for _, end := range []context.CancelCauseFunc{stopped, force} {
			select {
			case sig := <-got:
				end(stopSignal{sig})
			case <-done:
				return
			}
		}
		signal.Reset(all...)
	}()
	return stop, forced, func() { signal.Stop(got); close(done); stopped(nil); force(nil) }
}

// asked is why a context of signals ended.
type stopSignal struct{ signal os.Signal }

func (a stopSignal) Error() string { return "signal: " + a.signal.String() }
