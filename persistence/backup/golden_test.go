package backup

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// kept are all records of this package.
func kept(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[Manifest](t, "manifest", nil),
		golden.Record[Restored](t, "restored", nil),
		golden.Record[State](t, "state", nil),
		golden.Record[file](t, "file", nil),
		golden.Places(t, map[string]string{
			"state": stateKey, "restored": restoredKey, "file": filePath("00ff", "k3f7"), "records": (&Manifest{Store: "00ff", Name: "000001"}).at(recordsName),
			"list": (&Manifest{Store: "00ff", Name: "000001"}).at(listName), "manifest": (&Manifest{Store: "00ff", Name: "000001"}).at(manifestName), "head": recordsHead, "purpose": purpose("000001"),
		}),
	}
}

// TestGolden: what earlier releases have written is read.
func TestGolden(t *testing.T) { golden.Test(t, "persistence/backup", kept(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, kept(t)) }
