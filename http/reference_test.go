package http_test

import (
	"os"
	"testing"

	"troupe/http"
)

//go:generate go test . -run TestTheReferenceIsCurrent -update

func TestTheReferenceIsCurrent(t *testing.T) {
	const path = "../docs/errors.md"
	want := http.Reference()
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
		t.Errorf("%s is not what the table of codes says: run make generate", path)
	}
}
