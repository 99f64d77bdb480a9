package actors_test

import (
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/storetest"
	"troupe/testkit"
)

// TestLostKeys: where the answer to the write of a key is lost, its request begins. If the
// node is cut off behind it, the request has not begun: a repeat plays it, instead of
// hearing that it was interrupted.
func TestLostKeys(t *testing.T) {
	for _, cut := range []bool{false, true} {
		store := storetest.NewLossy(persistence.NewMemory())
		config := func(c *actors.Config) { c.Node, c.Session.Lease, c.Peers = "n1", 10*time.Second, nobody{} }
		testkit.Run(t, testkit.Options{Workers: 1, Store: store, Config: config}, func(t *testing.T, k *testkit.Kit) {
			for i, send := range []func() *api.Refusal{
				func() *api.Refusal { return k.Send(with("k", "d", anna), quick).Answer().Refusal },
				func() *api.Refusal {
					x := with("a", "d", anna)
					return k.SendAsync(x, quick).Refusal
				},
				func() *api.Refusal {
					return testkit.Ask(k, &api.BeginCall{Account: anna, Idempotency: api.Idempotency{Key: "c", Digest: []byte("d")}}).Refusal
				},
			} {
				plays := len(k.Engine.Plays())
				store.Lose("key/", 1)
				if cut {
					store.Deaf(true)
					if no := send(); no == nil || no.Code != engine.CodeNoQuorum {
						t.Errorf("%d, cut off: %+v", i, no)
					}
					store.Deaf(false)
					time.Sleep(10 * time.Second)
					k.Until("w1", api.Online)
				}
				if no := send(); no != nil {
					t.Errorf("%d, cut off before: %v: %+v", i, cut, no)
				}
				k.AwaitIdle()
				if n := len(k.Engine.Plays()) - plays; i < 2 && n != 1 {
					t.Errorf("%d was played %d times", i, n)
				}
				if store.Left() {
					t.Errorf("%d: no answer was lost", i)
				}
			}
		})
	}
}
