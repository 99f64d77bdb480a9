// Package wait is how tests wait for what happens in other goroutines: for a
// condition, and never for a time to be over.
package wait

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Hang is how long a test waits for what never comes about. It is no promise of
// how soon anything does: a machine may stand still for seconds while tests run.
const Hang = 2 * time.Minute

// pace is how long it takes a condition to be looked at again.
const pace = 5 * time.Millisecond

// Until returns when a condition holds, and ends a test in which it does not come
// to hold. What says so: "the browser is gone".
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Hang); !holds(); time.Sleep(pace) {
		if time.Now().After(end) {
			t.Fatalf("after %v it is still not so: %s", Hang, what)
		}
	}
}

// SideBySide lets so many parallel tests of a package run at once for each core, unless
// -parallel says how many: most of their time they wait. TestMain calls it before the
// flags are parsed.
func SideBySide(perCore int) {
	if err := flag.Lookup("test.parallel").Value.Set(strconv.Itoa(perCore * runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}
