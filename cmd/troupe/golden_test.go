package main

import (
	"encoding/json"
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of files whose shape has none; none is changed")

// keptFiles are the files that operators write: how a plan is changed.
func keptFiles(t *testing.T) []golden.Case {
	plan := golden.Record[planChange](t, "plan", nil)
	plan.Again = func(old []byte) ([]byte, error) {
		var c planChange
		if err := strictly(old, &c); err != nil {
			return nil, err
		}
		return json.Marshal(c)
	}
	return []golden.Case{plan}
}

// TestGolden: a file that an operator has written for an earlier release is read.
func TestGolden(t *testing.T) { golden.Test(t, "cmd/troupe", keptFiles(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in the file.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptFiles(t)) }
