package lease

import (
	"context"
	"errors"
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

// mutedStore stores what it is told to, once, and the answer is lost.
type mutedStore struct {
	persistence.Store
	mute   atomic.Bool
	stored chan struct{}
}

func (s *mutedStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	revision, err := s.Store.Put(ctx, w)
	if s.mute.CompareAndSwap(true, false) {
		close(s.stored)
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return revision, err
}

// TestALeaseIsGivenBack: also by a node that ends while it renews the lease, and does not
// hear that the renewal is on disk.
func TestALeaseIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &mutedStore{Store: persistence.NewMemory(), stored: make(chan struct{})}
		defer shared.Close()
		l := New(Config{Store: shared, Node: "n1", Boot: "b1", Duration: 10 * time.Second, Log: zerolog.Nop()})
		if err := l.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		shared.mute.Store(true)
		<-shared.stored
		l.Close()
		if rec, _, err := l.read(t.Context(), "n1"); err != nil || !rec.Over {
			t.Errorf("the node has ended, and its lease is %+v, %v", rec, err)
		}
	})
}

// TestARenewedLeaseIsNotWaitedOut: whoever waits for the lease of a node that is there
// learns that at its next renewal.
func TestARenewedLeaseIsNotWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := persistence.NewMemory()
		defer shared.Close()
		open := func(node string) *Leases {
			l := New(Config{Store: shared, Node: node, Boot: node, Duration: 10 * time.Second, Log: zerolog.Nop()})
			if err := l.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			return l
		}
		one, two := open("n1"), open("n2")
		defer one.Close()
		defer two.Close()
		time.Sleep(500 * time.Millisecond) // between two renewals
		began := time.Now()
		if err := two.WaitAndRevoke(t.Context(), "n1"); !errors.Is(err, ErrRenewed) || time.Since(began) > 1100*time.Millisecond {
			t.Errorf("told after %v: %v", time.Since(began), err)
		}
		if !one.Serving() {
			t.Error("its lease was taken")
		}
	})
}
