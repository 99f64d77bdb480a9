package schedule

import (
	"fmt"
	"testing"

	"troupe/actors/api"
)

// TestOffersOfNodesThatAreGone: nodes that have nothing more are not remembered, so
// names that were made up take no memory for ever.
func TestOffersOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	a := PeerCapacity{}
	for i := range 1000 {
		name := fmt.Sprintf("n%d", i)
		a.Update(&api.PeerCapacity{Node: name, Free: 1, Usable: 1})
		a.Update(&api.PeerCapacity{Node: name})
	}
	a.Update(&api.PeerCapacity{Node: "busy", Usable: 1})
	a.Update(&api.PeerCapacity{Node: "held", Held: map[string]int{"anna": 1}})
	if len(a) != 2 || a.Usable() != 1 || a.Held("anna") != 1 {
		t.Errorf("%d nodes are remembered", len(a))
	}
}
