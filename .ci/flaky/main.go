// Flaky prints the tests that have failed and then passed, run once more by
// themselves, with what they printed when they failed. Its arguments are files of
// events as go test -json writes them. With three such tests or more it fails: so
// many are no accident.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const tooMany = 3

type event struct{ Action, Package, Test, Output string }

// history is what has come of one test.
type history struct {
	ends   []string // pass or fail, of each run
	output []string // of its first run
}

func main() {
	all := map[string]*history{}
	for _, file := range os.Args[1:] {
		if err := read(file, all); err != nil {
			fmt.Fprintln(os.Stderr, "flaky:", err)
			os.Exit(2)
		}
	}
	flaky := find(all)
	for _, name := range flaky {
		fmt.Printf("\nflaky: %s has failed once, and passed when it ran again by itself:\n%s", name, strings.Join(all[name].output, ""))
	}
	if len(flaky) > 0 {
		fmt.Printf("\n%d flaky: %s\n", len(flaky), strings.Join(flaky, ", "))
	}
	if len(flaky) >= tooMany {
		fmt.Printf("%d flaky tests or more are a failure\n", tooMany)
		os.Exit(1)
	}
}

func read(file string, all map[string]*history) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read the events of tests: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for {
		var e event
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the events of tests in %s: %w", file, err)
		case e.Test == "":
			continue
		}
		name := e.Package + "." + e.Test
		h := all[name]
		if h == nil {
			h = &history{}
			all[name] = h
		}
		switch e.Action {
		case "output":
			if len(h.ends) == 0 {
				h.output = append(h.output, e.Output)
			}
		case "pass", "fail": // another run, without the race detector, may skip what this one has
			h.ends = append(h.ends, e.Action)
		}
	}
}

// find names the flaky tests. A test is as flaky as those in it: they are named
// instead.
func find(all map[string]*history) []string {
	var flaky []string
	for name, h := range all {
		if i := slices.Index(h.ends, "fail"); i >= 0 && h.ends[len(h.ends)-1] == "pass" {
			flaky = append(flaky, name)
		}
	}
	slices.Sort(flaky)
	return slices.DeleteFunc(slices.Clone(flaky), func(name string) bool {
		return slices.ContainsFunc(flaky, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}
