package actors

import (
	"fmt"
	"testing"

	"troupe/actors/api"
)

// TestOffersOfNodesThatAreGone: nodes that have nothing more are not remembered, so
// names that were made up take no memory for ever.
func TestOffersOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	a := peerCapacity{}
	for i := range 1000 {
		name := fmt.Sprintf("n%d", i)
		a.hear(&api.Offer{Node: name, Free: 1, Usable: 1})
		a.hear(&api.Offer{Node: name})
	}
	a.hear(&api.Offer{Node: "busy", Usable: 1})
	a.hear(&api.Offer{Node: "held", Held: map[string]int{"anna": 1}})
	if len(a) != 2 || a.usable() != 1 || a.held("anna") != 1 {
		t.Errorf("%d nodes are remembered", len(a))
	}
}
