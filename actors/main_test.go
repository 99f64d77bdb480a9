package actors_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// asked says that the number of random histories was given.
var asked bool

// fewer asks for less than TestMain does, for histories that take long.
func fewer(t *testing.T, few, most int) {
	if asked || testing.Short() {
		return
	}
	was := flag.Lookup("rapid.checks").Value.String()
	if need.AllAsked() {
		few = most
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(few)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.checks", was) })
}

// seeds is of how many seeds a test plays the history: most if it is named, half of them if
// all tests are asked for, few otherwise.
func seeds(few, most uint64) uint64 {
	switch {
	case need.Named():
		return most
	case need.AllAsked():
		return most / 2
	}
	return few
}

// TestMain asks for more random histories than the library does by itself, and for
// more rows in real browsers at once than there are cores.
func TestMain(m *testing.M) {
	need.Cases(100, 1000)
	wait.SideBySide(3)
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	asked = given["rapid.checks"]
	look := leaks.Start()
	os.Exit(look.End(m.Run()))
}
