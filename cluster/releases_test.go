package cluster

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/cluster/link"
)

// TestOutside: of any nodes, those that go on understand each other, each of the others
// does not understand one of them, and the order in which nodes are known is all one.
func TestOutside(t *testing.T) {
	began := time.Now()
	rapid.Check(t, func(rt *rapid.T) {
		var all []speaker
		for i := range rapid.IntRange(1, 7).Draw(rt, "nodes") {
			oldest := rapid.IntRange(1, 5).Draw(rt, "oldest")
			all = append(all, speaker{
				name: fmt.Sprintf("n%d", i), speaks: link.Speaks{Oldest: oldest, Newest: oldest + rapid.IntRange(0, 1).Draw(rt, "more")},
				began: began.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "began")) * time.Second),
			})
		}
		out := outside(all)
		for _, a := range all {
			by, is := out[a.name]
			if is && (a.speaks.With(by.speaks) || out[by.name].name != "") {
				rt.Fatalf("%v is outside because of %v", a, by)
			}
			for _, b := range all {
				if _, also := out[b.name]; !is && !also && !a.speaks.With(b.speaks) {
					rt.Fatalf("%v and %v go on together", a, b)
				}
			}
		}
		for name, by := range outside(rapid.Permutation(all).Draw(rt, "order")) {
			if out[name].name != by.name {
				rt.Fatalf("%s is outside because of %v in one order, and of %v in another", name, out[name], by)
			}
		}
	})
}

// TestOutsideIsTheMinority: a node that comes to others is outside, not they, and so is
// the one that began later of two.
func TestOutsideIsTheMinority(t *testing.T) {
	at := func(name string, oldest, newest, second int) speaker {
		return speaker{name: name, speaks: link.Speaks{Oldest: oldest, Newest: newest}, began: time.Unix(int64(second), 0)}
	}
	for name, c := range map[string]struct {
		all  []speaker
		want string
	}{
		"neighbours":                       {[]speaker{at("a", 1, 1, 1), at("b", 1, 2, 2)}, ""},
		"one that skipped a release":       {[]speaker{at("a", 1, 2, 1), at("b", 1, 2, 2), at("c", 3, 4, 0)}, "c"},
		"one that was left behind":         {[]speaker{at("a", 1, 2, 1), at("b", 3, 4, 2), at("c", 3, 4, 3)}, "a"},
		"two":                              {[]speaker{at("a", 3, 4, 2), at("b", 1, 2, 1)}, "a"},
		"two, of which one does not say":   {[]speaker{at("a", 3, 4, 2), {name: "b", speaks: link.Speaks{Oldest: 1, Newest: 1}}}, "a"},
		"three releases in three nodes":    {[]speaker{at("a", 1, 2, 1), at("b", 2, 3, 2), at("c", 3, 4, 3)}, "c"},
		"what one says backwards is wrong": {[]speaker{at("a", 1, 2, 1), at("b", 1, 2, 2)}, ""},
	} {
		out := outside(c.all)
		if _, is := out[c.want]; len(out) > 1 || is != (c.want != "") {
			t.Errorf("%s: %v, want %q", name, out, c.want)
		}
	}
}
