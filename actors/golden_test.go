package actors

import (
	"reflect"
	"testing"

	"troupe/engine"
	"troupe/testkit/golden"
)

// recordMakers: a cache is one object, whatever keys it has.
var recordMakers = golden.Makers{reflect.TypeFor[*engine.Cache](): func() any {
	c := engine.NewCache()
	c.Set("name", []byte(`"<ü>"`))
	c.Push("list", []byte(`1`))
	return c
}}

// keptRecords are all records that actors write.
func keptRecords(t *testing.T) []golden.Kept {
	return []golden.Kept{
		golden.Record[keyRecord](t, "key", nil),
		golden.Record[leaseRecord](t, "lease", nil),
		golden.Record[engine.Outcome](t, "outcome", nil),
		golden.Record[sessionRecord](t, "session", nil),
		golden.Record[sessionState](t, "session-state", recordMakers),
		golden.Record[taskRecord](t, "task", nil),
		golden.Record[workerRecord](t, "worker", nil),
		golden.Places(t, map[string]string{
			"key": keyPath("ada~1", "a key"), "lease": leasePrefix + "n1", "outcome": outcomePrefix + "t1", "session": sessionPrefix + "s1",
			"session-state": stateKey("s1", 0), "session-state of an epoch": stateKey("s1", 7), "task": taskPrefix + "t1", "worker": workerPrefix + "w1",
		}),
	}
}

// TestGolden: what earlier releases have written down is read, and each record has
// a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "actors", keptRecords(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptRecords(t)) }
