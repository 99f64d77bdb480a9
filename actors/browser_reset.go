package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"troupe/engine"
)

const (
	// mostReset bounds the reset of a browser however busy the machine is, or ResetTimeout
	// where that is more.
	mostReset = 15 * time.Second
	// manyResets and manyLaunches are how many times as long as others a reset may take, and
	// as a launch, which is more work.
	manyResets   = 4
	manyLaunches = 2
)

// resetting is one reset of a browser, known by its address.
type resetting struct {
	node  *nodeParts
	began time.Time
	over  atomic.Bool
	send  func(error) // tells the worker how it ended
}

// resetDone says how a reset ended.
type resetDone struct {
	resetting *resetting
	err       error
}

// run resets a browser that ends with live.
func (r *resetting) run(live context.Context, inst engine.Instance) {
	ctx, cancel := context.WithCancelCause(live)
	late := time.AfterFunc(r.node.resetLimit(), func() { r.late(cancel) })
	r.node.background.Go(func() {
		err := protect(func() error { return inst.Reset(ctx) })
		late.Stop()
		if err == nil {
			r.node.resetTimes.Add(time.Since(r.began))
		}
		r.end(err)
		cancel(nil)
	})
}

// late gives the reset up, unless the machine has become busy meanwhile.
func (r *resetting) late(cancel context.CancelCauseFunc) {
	switch more := r.node.resetLimit() - time.Since(r.began); {
	case r.over.Load():
	case more > 0:
		time.AfterFunc(more, func() { r.late(cancel) })
	default: // a claim may be waiting: no moment more
		cancel(context.DeadlineExceeded)
		r.end(fmt.Errorf("reset the browser: %w", context.DeadlineExceeded))
	}
}

func (r *resetting) end(err error) {
	if r.over.CompareAndSwap(false, true) {
		r.send(err)
	}
}

// resetLimit is how long a browser may take to be reset: ResetTimeout, and longer while
// everything takes long. A browser that is only slow would be replaced by one that has to
// be launched, and the machine would be busier than before.
func (n *nodeParts) resetLimit() time.Duration {
	least := n.cfg.Browser.ResetTimeout
	return min(max(manyResets*n.resetTimes.Value(), manyLaunches*n.launchTimes.Value(), least), max(mostReset, least))
}
