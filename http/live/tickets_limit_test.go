package live

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

// TestTicketsOfNodesHaveALimit: many requests at once, at three nodes of a store, make as
// many tickets and links as the account may have, not one more and not one less. Another
// account is not in their way.
func TestTicketsOfNodesHaveALimit(t *testing.T) {
	for _, as := range []*Kind{Ticket, Link} {
		t.Run(as.name, func(t *testing.T) {
			store := persistence.NewMemory()
			defer store.Close()
			ctx, cancel := context.WithCancel(context.Background())
			var nodes []*tickets
			var following, work sync.WaitGroup
			defer following.Wait()
			defer cancel()
			for range 3 {
				n := newTickets(store, zerolog.Nop())
				nodes = append(nodes, n)
				following.Go(func() { n.follow(ctx) })
			}
			ticketFor := func(account string) ticket {
				now := time.Now()
				return ticket{account: persistence.Account{ID: account}, object: "task_1", made: now, expires: now.Add(time.Hour), link: as.link}
			}
			var made, refused atomic.Int64
			for i := range as.most + 60 {
				work.Go(func() {
					_, _, ok, err := nodes[i%3].issue(ctx, as, ticketFor("acc"))
					switch {
					case err != nil:
						t.Error(err)
					case ok:
						made.Add(1)
					default:
						refused.Add(1)
					}
				})
			}
			work.Wait()
			if made.Load() != int64(as.most) || refused.Load() != 60 {
				t.Errorf("%d were made and %d refused, of a limit of %d", made.Load(), refused.Load(), as.most)
			}
			if all, err := store.List(ctx, ticketPrefix); err != nil || len(all) != as.most {
				t.Errorf("%d are in the store: %v", len(all), err)
			}
			for _, n := range nodes {
				if _, _, ok, err := n.issue(ctx, as, ticketFor("other")); !ok || err != nil {
					t.Errorf("another account: %v, %v", ok, err)
				}
			}
		})
	}
}
