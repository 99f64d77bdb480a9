package cluster_test

import (
	"errors"
	"fmt"
	"testing"

	"troupe/cluster/member"
	"troupe/persistence"
)

// BenchmarkWrongToken is what the look-up of a token that nobody has costs at a node of three:
// the node knows all tokens, and asks the leader of the store whether this is a new one.
func BenchmarkWrongToken(b *testing.B) {
	var members []*member.Member
	for _, cfg := range configs(b, 3) {
		members = append(members, join(b, cfg))
	}
	ready(b, members...)
	for i, m := range members {
		store := openStore(b, m)
		accounts := persistence.NewAccounts(store.Cached())
		b.Run(fmt.Sprintf("node %d, leads %v", i+1, m.Leader() == m.Name()), func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				if _, err := accounts.Lookup(b.Context(), fmt.Sprintf("troupe_%043d", n)); !errors.Is(err, persistence.ErrNotFound) {
					b.Fatal(err)
				}
			}
		})
	}
}
