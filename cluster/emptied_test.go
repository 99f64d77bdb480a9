package cluster_test

import (
	"fmt"
	"os"
	"testing"

	"troupe/cluster"
	"troupe/persistence"
	"troupe/testkit/need"
)

// TestAnEmptiedNode: a node whose disk was emptied does not help one that is
// behind to lead: what a third one alone still has waits for that, and is not lost.
func TestAnEmptiedNode(t *testing.T) {
	need.Time(t)
	need.All(t)
	t.Parallel()
	cfgs := configs(t, 3)
	const acked = 20
	a, b, c := join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])
	ready(t, a, b, c)
	s := openStore(t, a)
	put := func(key string) {
		t.Helper()
		if _, err := s.Put(t.Context(), persistence.Write{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	put("before")
	c.Close()
	for i := range acked {
		put(fmt.Sprint("acked/", i))
	}
	b.Close()
	a.Close()
	if err := os.RemoveAll(cfgs[1].Dir); err != nil {
		t.Fatal(err)
	}
	b, c = join(t, cfgs[1]), join(t, cfgs[2])
	soon(t, "the emptied one has voted for the one that is behind", func() bool {
		who, term, _ := cluster.Voted(b)
		rival, at, candidate := cluster.Voted(c)
		return who != "" && who == rival && term == at && candidate
	})
	if b.Leader() != "" || c.Leader() != "" || b.Whole() || c.Whole() {
		t.Errorf("%q, %q lead, and they are whole: %v, %v", b.Leader(), c.Leader(), b.Whole(), c.Whole())
	}
	a = join(t, cfgs[0])
	ready(t, a, b, c)
	s = openStore(t, c)
	for i := range acked {
		if _, err := s.Get(t.Context(), fmt.Sprint("acked/", i)); err != nil {
			t.Errorf("what was acknowledged: %v", err)
		}
	}
	soon(t, "the emptied one has it, too", func() bool {
		_, lags, err := askLags(t.Context(), s)
		return err == nil && lags["n2"] == 0 && b.Whole()
	})
	a.Close() // the last that had it before
	put("after")
	for i := range acked {
		if _, err := s.Get(t.Context(), fmt.Sprint("acked/", i)); err != nil {
			t.Errorf("after the loss of the node that had it: %v", err)
		}
	}
}
