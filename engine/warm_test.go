package engine

import (
	"context"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestHandsAreReady: where no task waits, the blank page after a task that has aimed at
// something has what aiming needs, and after one that has only read it has not.
func TestHandsAreReady(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	in, _ := launch(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	do := func(actions string) {
		t.Helper()
		if o := play(t, in, `{"actions":[`+actions+`]}`, TaskEnv{}); len(o.Failures) > 0 {
			t.Fatal(o.Failures)
		}
	}
	reset := func() {
		t.Helper()
		if err := in.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		in.Warm()
		wait.Until(t, "the blank page is ready", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return in.cold == nil || len(in.cold.done) > 0
		})
	}
	// sent plays a list, cleans up after it, and counts what aiming at the next blank
	// page sends.
	sent := func(actions string) int64 {
		t.Helper()
		reset()
		do(actions)
		reset()
		before := in.browser.Sent()
		do(`{"hover":"body"}`)
		return in.browser.Sent() - before
	}
	read, hovered := sent(`{"getText":"body"}`), sent(`{"hover":"body"}`)
	if read != hovered+2 { // the hands, and the guard's way to tell
		t.Errorf("aiming sends %d commands after a task that has read and %d after one that has aimed, want two less", read, hovered)
	}
}
