package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestListsThatNameNothing: no list of any command may be given and name nothing. Where it
// is a bound, it would mean that there is none.
func TestListsThatNameNothing(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.PostBuild(nameVariables), kong.Bind(&environment{}))
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, group := range leaf.AllFlags(false) {
			for _, f := range group {
				if f.Target.Kind() != reflect.Slice || f.Target.Type().Elem().Kind() != reflect.String {
					continue
				}
				lists[f.Name] = true
				for _, nothing := range []string{"", ",", " ", " , "} {
					if f.Tag.Sep == -1 && strings.TrimSpace(nothing) != "" {
						continue // the text is one value
					}
					args := append(pathTo(leaf), "--"+f.Name+"="+nothing)
					for _, of := range leaf.AllFlags(false) {
						for _, other := range of {
							if other.Required && other != f {
								args = append(args, "--"+other.Name+"=x")
							}
						}
					}
					for range leaf.Positional {
						args = append(args, "x")
					}
					if code, _, errs := play(t, "", args...); code != exitUsage || !strings.Contains(errs, "--"+f.Name+" names nothing") {
						t.Errorf("%q ends with %d: %s", args, code, errs)
					}
				}
			}
		}
	}
	for _, name := range []string{"sites", "allow", "host", "trusted-proxy", "allow-host"} {
		if !lists[name] {
			t.Errorf("--%s was not found", name)
		}
	}
}
