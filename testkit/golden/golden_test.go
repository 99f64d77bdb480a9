package golden

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLost: what is gone or is something else is found, and what was added is not.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, is, lost string }{
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1,"none":null}`, `{"a":1}`, ""},
		{`[{"a":[1,2.50]}]`, `[ {"a":[1,2.50]} ]`, ""},
		{`{"a":1}`, `{"A":1}`, "/a is lost"},
		{`{"a":{"b":1}}`, `{"a":{}}`, "/a/b is lost"},
		{`{"a":1}`, `{"a":2}`, "/a was 1 and is 2"},
		{`{"a":1}`, `{"a":"1"}`, "/a was"},
		{`{"a":[1,2]}`, `{"a":[1]}`, "/a was"},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, "/a was"},
		{"\x01\x02", "\x01\x03", "is now"},
	} {
		err := Lost([]byte(c.was), []byte(c.is))
		if (err == nil) != (c.lost == "") || err != nil && !strings.Contains(err.Error(), c.lost) {
			t.Errorf("%s, then %s: %v, want %q", c.was, c.is, err, c.lost)
		}
	}
}

type inner struct {
	Named    string `json:"named"`
	Nameless int
}

type outer struct {
	inner
	List  []map[string]*inner `json:"list"`
	At    time.Time           `json:"at"`
	Left  func()              `json:"-"`
	Bare  bool                `json:",omitempty"`
	small int
}

// TestUnnamed: fields without a name are found wherever they are.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	want := []string{"golden.inner.Nameless", "golden.outer.Bare"}
	if got := Unnamed(reflect.TypeFor[*outer]()); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFill: every field that JSON has gets a value.
func TestFill(t *testing.T) {
	t.Parallel()
	var v outer
	Fill(t, &v, nil)
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if v.Nameless == 0 || len(v.List) != 1 || v.At.IsZero() || !v.Bare || v.small != 0 || v.Left != nil || strings.Count(string(b), `"named":"named `) != 2 {
		t.Errorf("%s", b)
	}
}

// TestFilesAreOnlyAdded: another shape gets a file of its own, with a number that
// no file has had, and no file is written over.
func TestFilesAreOnlyAdded(t *testing.T) {
	t.Chdir(t.TempDir())
	k := Case{Name: "a", Ext: "json", Today: []byte("1")}
	shapes := []string{"1", "2", "3"}
	for _, shape := range shapes {
		k.Today = []byte(shape)
		all, err := list(Folder)
		if err != nil {
			t.Fatal(err)
		}
		name, err := k.todays(k.files(all))
		if err == nil {
			err = add(name, k.Today)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(Folder + "/a.json"); err != nil {
		t.Fatal(err)
	}
	all, err := list(Folder)
	if err != nil {
		t.Fatal(err)
	}
	mine, next := k.files(all)
	if !slices.Equal(mine, []string{Folder + "/a.2.json", Folder + "/a.3.json"}) || next != 4 {
		t.Errorf("%v, and the next is %d", mine, next)
	}
	if name, err := k.todays(mine, next); name != "" || err != nil {
		t.Errorf("what is there is to be written as %q: %v", name, err)
	}
	if err := add(mine[0], []byte("4")); err == nil {
		t.Error("a file was written over")
	}
}
