package http

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"troupe/engine"
	"troupe/testkit/golden"
)

// keptForms are digests of requests, and answers to them.
func keptForms(t *testing.T) []golden.Case {
	return []golden.Case{
		digestOfRequest(t),
		golden.Record[callAnswer](t, "call-answer", nil),
	}
}

// digestOfRequest is what a key of a client stands for: requests that are repeated
// after a restart are compared with it.
func digestOfRequest(t *testing.T) golden.Case {
	type kept struct {
		Payload json.RawMessage `json:"payload"`
		File    string          `json:"file"`
		Digest  []byte          `json:"digest"`
	}
	again := func(k kept) ([]byte, error) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(k.File), 0o600); err != nil {
			return nil, err
		}
		var err error
		if k.Digest, err = digest(k.Payload, []engine.Upload{{Name: "a", Path: path}}); err != nil {
			return nil, err
		}
		return json.Marshal(k)
	}
	today, err := again(kept{Payload: json.RawMessage(`{"timeout":1.50e3,"b":[-0,1.0,"\u00fc<"],"actions":[{"open":"about:blank"}]}`), File: "text"})
	if err != nil {
		t.Fatal(err)
	}
	return golden.Case{Name: "request-digest", Ext: "json", Today: today, Again: func(old []byte) ([]byte, error) {
		var k kept
		if err := json.Unmarshal(old, &k); err != nil {
			return nil, err
		}
		return again(k)
	}}
}

// TestGolden: what earlier releases have written down of tickets is read. Each of those forms has a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "http", keptForms(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptForms(t)) }
