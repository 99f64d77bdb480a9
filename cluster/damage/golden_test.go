package damage

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

func kept(t *testing.T) []golden.Case {
	return []golden.Case{golden.Record[Marks](t, "marks", nil)}
}

// TestGolden: the marks of earlier releases are understood.
func TestGolden(t *testing.T) { golden.Test(t, "cluster/damage", kept(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, kept(t)) }
