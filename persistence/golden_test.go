package persistence

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// keptRecords are all records of this package that are JSON.
func keptRecords(t *testing.T) []golden.Kept {
	return []golden.Kept{
		golden.Record[Account](t, "account", nil),
		golden.Record[Act](t, "audit-begin", nil),
		golden.Record[ended](t, "audit-end", nil),
		golden.Record[Blob](t, "file", nil),
		golden.Record[Repair](t, "repair", nil),
		golden.Record[Secret](t, "secret", nil),
		golden.Record[state](t, "state", nil),
		golden.Record[Token](t, "token", nil),
		golden.Record[TokenEvent](t, "token-event", nil),
	}
}

// TestGolden: what earlier releases have written down is read, and each record has
// a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "persistence", keptRecords(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptRecords(t)) }
