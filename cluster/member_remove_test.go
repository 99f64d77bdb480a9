package cluster_test

import (
	"strings"
	"testing"

	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/persistence"
)

// TestANodeIsRemovedForEver: what it kept is kept by another one, and a majority
// is one of those that are left.
func TestANodeIsRemovedForEver(t *testing.T) {
	t.Parallel()
	var nodes []*member.Member
	for _, cfg := range configs(t, 4) {
		nodes = append(nodes, join(t, cfg))
	}
	ready(t, nodes...)
	n1, n4 := nodes[0], nodes[3]
	s := openStore(t, n1)
	for _, key := range []string{"a", "b"} {
		if _, err := s.Put(ctx, persistence.Write{Key: key, Value: []byte(key)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"n1": "cannot remove itself", "n4": "is up: stop it first", "n9": "there are n1, n2, n3, n4"} {
		if err := n1.Remove(ctx, name); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s is removed: %v", name, err)
		}
	}
	n4.Close()
	soon(t, "n4 can be removed", func() bool {
		err := n1.Remove(ctx, "n4")
		if err != nil {
			t.Log(err)
		}
		return err == nil
	})
	soon(t, "three nodes keep all", func() bool {
		leader, lags, err := askLags(ctx, s)
		_, there := lags["n4"]
		return err == nil && leader != "" && len(lags) == 3 && !there
	})
	ready(t, nodes[:3]...) // the one that has got n4's part has all of it
	if err := n1.Remove(ctx, "n4"); err == nil || !strings.Contains(err.Error(), "there are n1, n2, n3") {
		t.Errorf("removed twice: %v", err)
	}
	for _, n := range nodes[:3] { // one that still counted four would let the next one that is lost end the majority
		soon(t, n.Name()+" counts three", func() bool { return cluster.CountsNodes(n, 3) })
	}
	nodes[2].Close()
	soon(t, "it is said that three are kept", func() bool { // n3 may have been the leader
		err := n1.Remove(ctx, "n3")
		if err == nil {
			t.Fatal("of three nodes one is removed")
		}
		return strings.Contains(err.Error(), "a cluster keeps 3")
	})
	soon(t, "two of three are a majority", func() bool {
		_, err := s.Put(ctx, persistence.Write{Key: "c", Value: []byte("c")})
		return err == nil && n1.Majority()
	})
	if all, err := s.List(ctx, ""); err != nil || len(all) != 3 {
		t.Errorf("there are %d records, %v", len(all), err)
	}
}
