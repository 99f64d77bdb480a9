package testkit

import (
	"testing/synctest"
	"time"

	"troupe/actors/api"
)

// soon is how long something may take in real time that is due at once: a busy
// machine is slow to start browsers.
const soon = 20 * time.Second

// late is how much longer than it should something may take in real time. The times
// themselves are for fake time to tell.
const late = 30 * time.Second

// AwaitIdle waits until nothing happens any more before time goes on. It works in a
// bubble only: in real time, wait for the expected state.
func (k *Kit) AwaitIdle() {
	k.T.Helper()
	if !k.bubble {
		k.T.Fatal("AwaitIdle works only with testkit.Run")
	}
	synctest.Wait()
}

// OpenBrowsers returns how many browsers are open once everything that is due has
// happened. A worker that says that it has stopped may still be closing its own.
func (k *Kit) OpenBrowsers() int {
	if k.bubble {
		synctest.Wait()
	}
	return k.Engine.Open()
}

// Await reports whether the condition holds once everything that is due has
// happened. In real time it waits a while for that.
func (k *Kit) Await(so func() bool) bool {
	k.T.Helper()
	if k.bubble {
		synctest.Wait()
		return so()
	}
	for end := time.Now().Add(soon); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// WantState fails the test unless the worker is in the state once everything
// that is due has happened.
func (k *Kit) WantState(worker string, s api.State) {
	k.T.Helper()
	if !k.Await(func() bool { return k.Worker(worker).State == s }) {
		k.T.Fatalf("%s is %s, want %s", worker, k.Worker(worker).State, s)
	}
}

// WantLaunches fails the test unless so many browsers have been started for the
// worker once everything that is due has happened.
func (k *Kit) WantLaunches(worker string, n int) {
	k.T.Helper()
	k.Await(func() bool { return k.Engine.Launches(worker) >= n })
	if got := k.Engine.Launches(worker); got != n {
		k.T.Fatalf("%d browsers were started for %s, want %d", got, worker, n)
	}
}

// UntilWaiting fails the test unless so many requests wait for a worker once
// everything that is due has happened.
func (k *Kit) UntilWaiting(n int) {
	k.T.Helper()
	if !k.Await(func() bool { return k.Node.Status().Waiting == n }) {
		k.T.Fatalf("%d requests wait, want %d", k.Node.Status().Waiting, n)
	}
}

// WantTook fails the test unless the time since then is between least and most.
// In a bubble that is exact; in real time it may be a little more, so began is
// best taken before whatever starts the time.
func (k *Kit) WantTook(began time.Time, least, most time.Duration) {
	k.T.Helper()
	took := time.Since(began)
	if !k.bubble {
		most += late
	}
	if took < least || took > most {
		k.T.Fatalf("it took %v, want %v to %v", took, least, most)
	}
}
