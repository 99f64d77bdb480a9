package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

// deaf is a store whose events can stop, as those of a node that is cut off.
type deaf struct {
	persistence.Store
	lost chan struct{} // closed: its watchers lose the thread
	back chan struct{} // closed: they can follow again
}

func (d *deaf) Watch(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	select {
	case <-d.lost:
		<-d.back
		return d.Store.Watch(ctx, prefix)
	default:
	}
	events := make(chan persistence.Event)
	in, err := d.Store.Watch(ctx, prefix)
	go func() {
		defer close(events)
		for {
			select {
			case e, ok := <-in:
				if !ok {
					return
				}
				events <- e
			case <-d.lost:
				return
			}
		}
	}()
	return events, err
}

func (t *tickets) numbers() (alive, ended int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.alive), len(t.ended)
}

// ticketsOfANode are the tickets of a node that hears of the others' until the test ends.
func ticketsOfANode(t *testing.T, store persistence.Store) *tickets {
	all := newTickets(store, zerolog.Nop())
	go all.follow(t.Context())
	return all
}

// TestAttackLinksInALoop: who makes and revokes links without end leaves a bounded
// number of records, at whichever nodes, and they go within a minute.
func TestAttackLinksInALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		first, second := ticketsOfANode(t, store), ticketsOfANode(t, store)
		synctest.Wait()
		link := func(at *tickets, account string) bool {
			t.Helper()
			now := time.Now()
			_, id, ok, err := at.issue(t.Context(), Link, ticket{account: persistence.Account{ID: account}, object: "w1", made: now, expires: now.Add(MaxLink), link: true})
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				if found, err := at.revoke(t.Context(), account, id, true); !found || err != nil {
					t.Fatalf("%v, %v", found, err)
				}
			}
			synctest.Wait()
			return ok
		}
		records := func() int {
			all, err := store.List(t.Context(), ticketPrefix)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		for round := range 3 {
			made := 0
			for i := range 1000 {
				if link([]*tickets{first, second}[i%2], "acc1") {
					made++
				}
			}
			if n := records(); made != 2*maxLinks || n != 2*maxLinks {
				t.Errorf("round %d: %d were made, and %d records are left", round, made, n)
			}
			if !link(second, "acc2") {
				t.Error("another account gets none")
			}
			time.Sleep(rememberRevoked + time.Second)
			synctest.Wait()
			if n := records(); n != 0 {
				t.Errorf("round %d: %d records are left after a minute", round, n)
			}
			for _, at := range []*tickets{first, second} {
				if alive, ended := at.numbers(); alive+ended != 0 {
					t.Errorf("a node remembers %d and %d", alive, ended)
				}
			}
		}
		store.Close()
	})
}

// TestARevokedLinkIsNotForgotten: a node that does not hear of a revocation ends the
// link when it follows again, also after the record of it has gone; those that stand
// stay.
func TestARevokedLinkIsNotForgotten(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{"at once": time.Second, "after the record has gone": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := persistence.NewMemory()
				cut := &deaf{store, make(chan struct{}), make(chan struct{})}
				first, second := ticketsOfANode(t, store), ticketsOfANode(t, cut)
				synctest.Wait()
				var ids []string
				for range 2 {
					now := time.Now()
					_, id, _, err := first.issue(t.Context(), Link, ticket{account: persistence.Account{ID: "acc1"}, object: "w1", made: now, expires: now.Add(MaxLink), link: true})
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, id)
				}
				time.Sleep(2 * time.Minute)
				close(cut.lost)
				synctest.Wait()
				if found, err := first.revoke(t.Context(), "acc1", ids[0], true); !found || err != nil {
					t.Fatalf("%v, %v", found, err)
				}
				time.Sleep(later)
				if alive, _ := second.numbers(); alive != 2 {
					t.Fatalf("a node that hears nothing knows %d links", alive)
				}
				close(cut.back)
				time.Sleep(2 * time.Second) // until it follows again
				synctest.Wait()
				if links := second.links("acc1", time.Now()); len(links) != 1 || links[0].ID != ids[1] {
					t.Errorf("the links are %+v", links)
				}
				store.Close()
			})
		})
	}
}
