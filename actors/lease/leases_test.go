package lease

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
)

// cutStore can be out of reach.
type cutStore struct {
	persistence.Store
	cut atomic.Bool
}

func (s *cutStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if s.cut.Load() {
		<-ctx.Done()
		return 0, persistence.ErrNoQuorum
	}
	return s.Store.Put(ctx, w)
}

// TestLeaseLapses: a node that cannot renew its lease stops before anybody else
// may begin, and goes on where nobody has.
func TestLeaseLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := persistence.NewMemory()
		defer shared.Close()
		const lease = 10 * time.Second
		open := func(node string) (*Leases, *cutStore, *atomic.Int64, *atomic.Int64) {
			s := &cutStore{Store: shared}
			l := New(Config{Store: s, Node: node, Boot: node, Duration: lease, Log: zerolog.Nop()})
			var lapses, looks atomic.Int64
			l.onLost = func() { lapses.Add(1) }
			l.confirm = func(context.Context, uint64) error { looks.Add(1); return nil }
			if err := l.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			return l, s, &lapses, &looks
		}
		one, store, lapses, looks := open("n1")
		two, _, _, _ := open("n2")
		defer two.Close()
		defer one.Close()
		held := func(l *Leases, node string, most time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			return l.WaitAndRevoke(ctx, node)
		}

		time.Sleep(time.Hour)
		if err := held(two, "n1", 3*lease); err == nil || !one.Serving() || lapses.Load() > 0 {
			t.Fatalf("renewed for an hour: taken with %v, serving %v, %d lapses", err, one.Serving(), lapses.Load())
		}
		store.cut.Store(true)
		time.Sleep(lease*9/10 - lease/10 - time.Millisecond)
		if !one.Serving() || lapses.Load() > 0 {
			t.Fatal("it has stopped before its time")
		}
		time.Sleep(lease/10 + 2*time.Millisecond)
		if one.Serving() || lapses.Load() == 0 {
			t.Fatalf("its lease is over, and it goes on: %d lapses", lapses.Load())
		}
		store.cut.Store(false)
		time.Sleep(lease / 2)
		if !one.Serving() || looks.Load() > 0 {
			t.Fatalf("nobody has ended the lease: serving %v, %d looks at its sessions", one.Serving(), looks.Load())
		}

		store.cut.Store(true)
		began := time.Now()
		if err := held(two, "n1", 2*lease); err != nil || one.Serving() || time.Since(began) < lease*9/10 {
			t.Fatalf("taken after %v (%v) while it serves: %v", time.Since(began), err, one.Serving())
		}
		store.cut.Store(false)
		time.Sleep(lease / 2)
		if !one.Serving() || looks.Load() != 1 {
			t.Fatalf("back: serving %v, %d looks at its sessions", one.Serving(), looks.Load())
		}
		one.Close()
		if err := held(two, "n1", time.Millisecond); err != nil {
			t.Fatalf("a lease that was given back: %v", err)
		}
	})
}
