package browser

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

func keptNotes(t *testing.T) []golden.Case {
	return []golden.Case{golden.Record[note](t, "browser", nil)}
}

// TestGolden: what earlier releases have noted of their browsers is read.
func TestGolden(t *testing.T) { golden.Test(t, "engine/browser", keptNotes(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptNotes(t)) }
