package engine

import (
	"flag"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents anew")

//go:generate go test . -run TestTheReferenceIsCurrent -update

func TestTheReferenceIsCurrent(t *testing.T) {
	const path = "../docs/actions.md"
	want := Reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the actions' definitions say: run make generate", path)
	}
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
