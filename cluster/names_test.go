package cluster_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"troupe/cluster/member"
	"troupe/persistence"
	"troupe/testkit/need"
)

// Nodes may be named instead of numbered, as those of Kubernetes are, whose
// addresses change: with certificates that are for the name alone, they find
// each other, and one that was away again. What it misses meanwhile is told.
func TestNodesByName(t *testing.T) {
	need.Time(t)
	t.Parallel()
	ca := newAuthority(t)
	ca.name = "localhost"
	cfgs := configs(t, 3)
	var peers []string
	for _, c := range cfgs {
		peers = append(peers, strings.Replace(c.Listen, "127.0.0.1", "localhost", 1))
	}
	var all []*member.Member
	for i := range cfgs {
		cfgs[i].Listen, cfgs[i].Peers = peers[i], peers
		cfgs[i].CertFile, cfgs[i].KeyFile, cfgs[i].CAFile = ca.files(t, both...)
		all = append(all, join(t, cfgs[i]))
	}
	ready(t, all...)
	for _, m := range all {
		soon(t, m.Name()+" sees the others", func() bool { return len(m.Peers()) == 2 })
	}

	s := openStore(t, all[0])
	lag := func() (most int64) {
		_, lags, err := askLags(t.Context(), s)
		if err != nil || len(lags) < 3 {
			return -1
		}
		return slices.Max(slices.Collect(maps.Values(lags)))
	}
	soon(t, "nobody misses anything", func() bool { return lag() == 0 })
	away := slices.IndexFunc(all, func(m *member.Member) bool { return m != all[0] && m.Name() != all[0].Leader() })
	all[away].Close()
	const missed = 20
	for i := range missed {
		if _, err := s.Put(t.Context(), persistence.Write{Key: fmt.Sprint("missed/", i)}); err != nil {
			t.Fatal(err)
		}
	}
	soon(t, "what it misses is told", func() bool { return lag() >= missed })
	all[away] = join(t, cfgs[away])
	ready(t, all...)
	soon(t, "it has caught up", func() bool { return lag() == 0 })
}
