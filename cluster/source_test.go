package cluster_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
)

// sources is the node that each node takes changes from.
func sources(t testing.TB, m *member.Member) map[string]string {
	t.Helper()
	js, err := jetstream.New(m.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), store.RecordStream)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for c := range stream.ListConsumers(t.Context()).Info() {
		if of, is := strings.CutPrefix(c.Config.Description, "changes for "); is && c.Cluster != nil {
			all[of] = c.Cluster.Leader
		}
	}
	return all
}

// Each node takes changes from its own copy: they go from node to node once, as copies, and
// no node waits for another one's.
func TestChangesComeFromTheOwnCopy(t *testing.T) {
	all := shared(t)
	emptied(t, all[0])
	var stores []*store.Store
	for _, m := range all {
		stores = append(stores, openStore(t, m))
	}
	for i, m := range all {
		revision, err := stores[i].Put(ctx, persistence.Write{Key: "of/" + m.Name(), Value: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range stores {
			soon(t, "a change reaches every node", func() bool {
				r, err := s.Copy().Get("of/" + m.Name())
				return err == nil && r.Revision == revision
			})
			if at := sources(t, m)[all[k].Name()]; at != all[k].Name() {
				t.Errorf("%s takes changes from %q", all[k].Name(), at)
			}
		}
	}
}
