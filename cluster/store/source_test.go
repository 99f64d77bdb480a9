package store

import (
	"testing"
	"time"
)

// A node whose own copy is current takes changes from it again, but not at once: what has
// made it take another one may last.
func TestComeHome(t *testing.T) {
	for _, c := range []struct {
		name, node, avoided string
		since               time.Duration
		ends                bool
		avoids              string
	}{
		{name: "another node for long", node: "n2", since: 2 * homeAfter, ends: true},
		{name: "another node for a moment", node: "n2", since: homeAfter / 2},
		{name: "the own copy was behind", node: "n2", avoided: "n1", since: 2 * homeAfter, ends: true},
		{name: "the own copy has just been behind", node: "n2", avoided: "n1", since: homeAfter / 2, avoids: "n1"},
		{name: "another one was behind", node: "n2", avoided: "n3", since: 2 * homeAfter, ends: true, avoids: "n3"},
		{name: "the own copy", node: "n1", since: 2 * homeAfter},
		{name: "there is one node", since: 2 * homeAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			ends := 0
			s := &Store{avoided: c.avoided}
			s.source = source{node: c.node, since: time.Now().Add(-c.since), end: func() { ends++ }}
			s.comeHome("n1")
			s.comeHome("n1") // the second one comes a second later, before the source has changed
			if want := map[bool]int{true: 1}[c.ends]; ends != want {
				t.Errorf("the source ended %d times, want %d", ends, want)
			}
			if s.avoided != c.avoids {
				t.Errorf("%q is avoided, want %q", s.avoided, c.avoids)
			}
		})
	}
}
