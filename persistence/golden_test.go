package persistence

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"testing"
	"time"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// keptRecords are all records of this package that are JSON.
func keptRecords(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[Account](t, "account", nil),
		golden.Record[Act](t, "audit-begin", nil),
		golden.Record[ended](t, "audit-end", nil),
		golden.Record[Blob](t, "file", nil),
		golden.Record[Flow](t, "flow", nil),
		golden.Record[removedFlow](t, "removed-flow", nil),
		golden.Record[Profile](t, "profile", nil),
		golden.Record[profileWriter](t, "profile-writer", nil),
		golden.Record[Repair](t, "repair", nil),
		golden.Record[running](t, "running", nil),
		golden.Record[Secret](t, "secret", nil),
		golden.Record[SessionFile](t, "session-file", nil),
		golden.Record[state](t, "state", nil),
		golden.Record[Token](t, "token", nil),
		golden.Record[TokenEvent](t, "token-event", nil),
		places(t),
		sealedValue(t),
	}
}

// places: a store finds its records by what the packages above call them, and a
// count by its account and day.
func places(t *testing.T) golden.Case {
	count, _ := usageKey("ada~1", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	blob, about := paths("00ff")
	return golden.Places(t, map[string]string{
		"account": accountPrefix + "ada", "count of a day": count, "description of a file in the folder": about, "file in the folder": blob,
		"record in Badger": string(keyOf("task/t1")), "flow": flowKey("ada~1", "name"), "version of a flow": versionKey("ada~1", "name", 3), "removed flow": flowRemovedPrefix + "ada~1/name", "profile": profileKey("ada~1", "name"), "part of a profile": partKey("ada~1", "name", "00ff", 2), "writer of a profile": profileWriterPrefix + "ada~1/name", "seal": sealCheck, "file of a session": sessionFileKey("ada~1", "sess_1", "00ff"), "secret": secretPrefix + "ada~1/name", "token": tokenPrefix + "00ff",
		"token-event": tokenEventPrefix + "ada~1/", "small value": string(Inline([]byte("value"))), "value in a file": string(append([]byte{outside}, "id"...)),
	})
}

// sealed is a value that an earlier release has sealed. No two are alike, so the one
// that is there is today's.
func sealedValue(t *testing.T) golden.Case {
	type kept struct {
		Key     []byte `json:"key"`
		Purpose string `json:"purpose"`
		Plain   string `json:"plain"`
		Sealed  []byte `json:"sealed"`
	}
	k := kept{Key: bytes.Repeat([]byte{7}, 32), Purpose: "secret/ada~1/name", Plain: "a secret"}
	one := golden.Case{Name: "sealed", Ext: "json", Again: func(old []byte) ([]byte, error) {
		var k kept
		if err := json.Unmarshal(old, &k); err != nil {
			return nil, err
		}
		seal, err := NewSeal(k.Key)
		if err != nil {
			return nil, err
		}
		plain, err := seal.Open(k.Purpose, k.Sealed)
		if err != nil {
			return nil, err
		}
		k.Plain = string(plain)
		return json.Marshal(k)
	}}
	today, err := os.ReadFile(golden.Folder + "/sealed.json")
	if errors.Is(err, fs.ErrNotExist) {
		seal, e := NewSeal(k.Key)
		if e != nil {
			t.Fatal(e)
		}
		k.Sealed = closed(t, seal, k.Purpose, []byte(k.Plain))
		today, err = json.Marshal(k)
	}
	if err != nil {
		t.Fatal(err)
	}
	one.Today = today
	return one
}

// TestGolden: what earlier releases have written down is read, and each record has
// a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "persistence", keptRecords(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptRecords(t)) }
