package engine

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents anew")

//go:generate go test . -run TestTheReferenceIsCurrent -update

// TestTheReferenceIsCurrent: the index and the pages of the actions are what
// their definitions say, and there are no others.
func TestTheReferenceIsCurrent(t *testing.T) {
	const folder = "../docs/actions/"
	index, pages := Reference(met(t))
	want := map[string]string{"../docs/actions.md": index}
	for name, page := range pages {
		want[folder+name+".md"] = page
	}
	there, err := filepath.Glob(folder + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if path = filepath.ToSlash(path); want[path] != "" {
			continue
		}
		if *update {
			err = os.Remove(path)
		}
		if !*update || err != nil {
			t.Errorf("%s is no action's page: run make generate (%v)", path, err)
		}
	}
	for path, text := range want {
		if *update {
			if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != text {
			t.Errorf("%s is not what the actions' definitions say: run make generate", path)
		}
	}
}

// met are the failures that the scripts of the actions have: of cases in which
// nothing but the action can have failed, and opening a page and scripts cannot
// fail like that.
func met(t *testing.T) map[string][]Met {
	all := map[string][]Met{}
	for name := range registry {
		seen := map[Code]string{}
		for _, c := range readScript(t, "testdata/"+name+".txtar").cases {
			type failure struct {
				Code  Code
				Error string
			}
			var want struct {
				failure
				Failures []failure
			}
			var task struct{ Actions []map[string]json.RawMessage }
			if json.Unmarshal([]byte(c.want), &want) != nil || json.Unmarshal([]byte(c.task), &task) != nil {
				continue
			}
			for _, f := range append(want.Failures, want.failure) {
				alone := f.Code != ""
				for _, a := range task.Actions {
					for other := range a {
						helps := other == "open" && f.Code != CodeNavigationFailed || other == "evaluate" && f.Code != CodeScriptError || other == "wait" || other == "options"
						alone = alone && (other == name || helps)
					}
				}
				if !alone {
					continue
				}
				text := f.Error
				if strings.HasPrefix(text, "~") || strings.Contains(text, "{{") {
					text = ""
				}
				if was, known := seen[f.Code]; !known || was == "" {
					seen[f.Code] = text
				}
			}
		}
		for _, code := range slices.Sorted(maps.Keys(seen)) {
			all[name] = append(all[name], Met{code, seen[code]})
		}
	}
	return all
}

func TestEveryActionIsInAGroup(t *testing.T) {
	for name, d := range registry {
		if !slices.Contains(groups, d.group) {
			t.Errorf("%s is in group %q, which the reference does not have", name, d.group)
		}
		if d.doc == "" || d.example == "" {
			t.Errorf("%s has no documentation or no example", name)
		}
	}
}
