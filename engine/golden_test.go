package engine

import (
	"reflect"
	"testing"

	"troupe/engine/browser"
	"troupe/testkit/golden"
)

// keptForms are the forms in which the engine's values leave the process.
func keptForms(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[browser.State](t, "browser-state", nil),
		golden.RecordOf(t, "task", reflect.TypeFor[*Task](), golden.Makers{reflect.TypeFor[*Task](): func() any {
			task, err := ParseWith([]byte(`{"actions":[{"open":"about:blank"},{"run":"a"}]}`), []Upload{{Name: "a.txt", Type: "text/plain", Path: "/tmp/a", Size: 3}},
				FlowList{{Name: "a", Version: 2, Source: []byte(`{"actions":[{"wait":1}]}`)}})
			if err != nil {
				t.Fatal(err)
			}
			return task.Within([]string{"shop.test"})
		}}),
	}
}

// TestGolden: what earlier releases have sent and written down is read, and each of
// those forms has a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "engine", keptForms(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptForms(t), reflect.TypeFor[wire]()) }
