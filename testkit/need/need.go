// Package need says what a test needs. With -short, which make check asks for, tests
// run that need nothing but the module: no browser, no network, no root.
package need

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Browser skips a test with -short: it needs a Chromium.
func Browser(t testing.TB) { skip(t, "a browser") }

// Registry skips a test with -short: it needs packages from the network.
func Registry(t testing.TB) { skip(t, "packages from the network") }

// Time skips a test with -short: it takes longer than a second or two.
func Time(t testing.TB) { skip(t, "time") }

func skip(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("it needs %s, and -short asks for tests that do not", what)
	}
}

// All skips a test unless all are asked for, as make test-all does, or those that a
// pattern names: it takes long, and what it looks after seldom breaks.
func All(t testing.TB) {
	t.Helper()
	if !AllAsked() && !Named() {
		t.Skip("it takes long: make test-all runs it, and so does -run")
	}
}

// AllAsked reports whether all tests are asked for. A test of very many cases may try
// fewer otherwise.
func AllAsked() bool { return os.Getenv(all) != "" }

const all = "TROUPE_TEST_ALL"

// Named reports whether a pattern names the tests that run.
func Named() bool { return flag.Lookup("test.run").Value.String() != "" }

// Nth reports whether the i-th of many cases of a kind is tried: each is if all tests are
// asked for, or a pattern names them, and every n-th otherwise.
func Nth(i, n int) bool { return i%n == 0 || AllAsked() || Named() }

// NoRace skips a test where races are looked for: it computes for long, which takes ten
// times as long with the race detector, and shorter tests do the same with it. make
// test-all runs those of the folders that its PLAIN lists once more without.
func NoRace(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("it computes: make test-all runs it without the race detector")
	}
}

// Cases says how many random cases each property test of the package tries: most
// if all tests are asked for, few otherwise. The flag -rapid.checks overrides it.
// Call it in TestMain before the flags are parsed.
func Cases(few, most int) {
	if AllAsked() {
		few = most
	}
	f := flag.Lookup("rapid.checks") // which stays one that nobody has given
	if err := f.Value.Set(strconv.Itoa(few)); err != nil {
		panic(err)
	}
}
