package actors_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
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

// TestMain asks for more random histories than the library does by itself, and for
// more rows in real browsers at once than there are cores: they mostly wait.
func TestMain(m *testing.M) {
	need.Cases(100, 2000)
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	asked = given["rapid.checks"]
	if *chromium && !given["test.parallel"] {
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	look := leaks.Start()
	os.Exit(look.End(m.Run()))
}
