package store

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

func kept(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[ListQuestion](t, "list-question", nil),
		golden.Record[ListAnswer](t, "list-answer", nil),
		golden.Record[AddQuestion](t, "add-question", nil),
		golden.Record[AddAnswer](t, "add-answer", nil),
		golden.Record[HubHealth](t, "hub-health", nil),
	}
}

// TestGolden: what worker nodes of earlier releases ask, and are told, is understood.
func TestGolden(t *testing.T) { golden.Test(t, "cluster/store", kept(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name between nodes.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, kept(t)) }
