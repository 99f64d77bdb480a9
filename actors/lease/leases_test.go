package lease

import (
	"context"
	"errors"
	"maps"
	"sync"
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

// pinged are nodes that ping each other as in a cluster, until their test ends.
type pinged struct {
	nodes map[string]*Leases
	away  map[string]bool // nobody hears them
	mu    sync.Mutex
}

func (p *pinged) ask(_ context.Context, keeper, node string, revision uint64, look bool) (Ends, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away[keeper] {
		return Ends{}, errors.New("it does not answer")
	}
	return p.nodes[keeper].Agree(node, revision, look), nil
}

func (p *pinged) cut(node string, away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away[node] = away
}

func (p *pinged) run(ctx context.Context) {
	stamps := map[[2]string]string{}
	for ; ctx.Err() == nil; time.Sleep(2 * time.Second) {
		p.mu.Lock()
		for k, keeper := range p.nodes {
			for n, node := range p.nodes {
				if k == n || p.away[k] || p.away[n] {
					continue
				}
				if s := stamps[[2]string{k, n}]; s != "" {
					node.Promised(k, s)
				}
				s := node.Stamp()
				if !keeper.Promise(n, s) {
					s = ""
				}
				stamps[[2]string{k, n}] = s
			}
		}
		p.mu.Unlock()
	}
}

// TestPingsCarryLeases: while nodes see each other, their leases cost no writes, also while
// the store is out of reach. A node that nobody sees loses its lease, and not before it has
// stopped.
func TestPingsCarryLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := persistence.NewMemory()
		defer shared.Close()
		const lease = 10 * time.Second
		p := &pinged{nodes: map[string]*Leases{}, away: map[string]bool{}}
		keepers := []string{"n1", "n2", "n3"}
		stores := map[string]*cutStore{}
		open := func(node string, workerNode bool, asks bool) *Leases {
			stores[node] = &cutStore{Store: shared}
			cfg := Config{Store: stores[node], Node: node, Boot: node, Duration: lease, WorkerNode: workerNode, Log: zerolog.Nop()}
			if asks {
				cfg.Keepers, cfg.Ask = func() []string { return keepers }, p.ask
			}
			l := New(cfg)
			if err := l.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.nodes[node] = l
			return l
		}
		for _, node := range keepers {
			defer open(node, false, true).Close()
		}
		worker := open("w1", true, true)
		defer worker.Close()
		ctx, stop := context.WithCancel(t.Context())
		var pinging sync.WaitGroup
		pinging.Go(func() { p.run(ctx) })
		defer pinging.Wait()
		defer stop()
		time.Sleep(lease)
		revisions := func() (all map[string]uint64) {
			list, err := shared.List(ctx, Prefix)
			if err != nil {
				t.Fatal(err)
			}
			all = map[string]uint64{}
			for _, r := range list {
				all[r.Key] = r.Revision
			}
			return all
		}
		before := revisions()
		time.Sleep(time.Hour)
		if after := revisions(); len(after) != 4 || !maps.Equal(after, before) {
			t.Errorf("in an hour the leases have been written: %v, then %v", before, after)
		}
		if !worker.Serving() {
			t.Fatal("the worker node has no lease")
		}
		if err := p.nodes["n1"].WaitAndRevoke(ctx, "w1"); !errors.Is(err, ErrRenewed) || !worker.Serving() {
			t.Errorf("the lease of a node that is seen: %v", err)
		}

		// Its process has just begun anew: a node that thinks that it is lost learns soon that
		// it is there.
		worker.Close()
		worker = open("w1", true, true)
		defer worker.Close()
		began := time.Now()
		if err := p.nodes["n1"].WaitAndRevoke(ctx, "w1"); !errors.Is(err, ErrRenewed) || time.Since(began) > 5*time.Second {
			t.Errorf("the lease of a node that was started again, after %v: %v", time.Since(began), err)
		}
		time.Sleep(lease)

		for _, s := range stores { // an election
			s.cut.Store(true)
		}
		time.Sleep(2 * lease)
		for _, s := range stores {
			s.cut.Store(false)
		}
		if !worker.Serving() || !p.nodes["n2"].Serving() {
			t.Error("the leases have not outlasted an election")
		}

		stores["w1"].cut.Store(true)
		p.cut("w1", true)
		began = time.Now()
		stopped := make(chan time.Duration, 1)
		go func() {
			for worker.Serving() {
				time.Sleep(10 * time.Millisecond)
			}
			stopped <- time.Since(began)
		}()
		if err := p.nodes["n3"].WaitAndRevoke(ctx, "w1"); err != nil || worker.Serving() {
			t.Errorf("a node that nobody sees: %v, it serves: %v", err, worker.Serving())
		}
		if took := time.Since(began); took > lease+2*time.Second || <-stopped > took {
			t.Errorf("its lease was ended after %v", took)
		}
		p.cut("w1", false)
		stores["w1"].cut.Store(false)
		time.Sleep(lease)
		if !worker.Serving() {
			t.Error("the node is back, and has no lease")
		}

		// Beside a node of the release before, which ends leases without asking, all renew
		// theirs in the store.
		old := open("n4", false, false)
		written := func() {
			rec, revision, err := old.read(ctx, "n4")
			if err == nil {
				rec.Asks, rec.Boot = false, "old"
				_, err = old.write(ctx, rec, revision)
			}
			if err != nil {
				t.Error(err)
			}
		}
		old.stop()
		old.wg.Wait()
		written()
		time.Sleep(2 * lease)
		before = revisions()
		time.Sleep(lease / 5)
		for key, revision := range revisions() {
			if revision == before[key] && key != Prefix+"n4" {
				t.Errorf("%s is not renewed beside a node of the release before", key)
			}
		}
		old.expiry.Stop()
	})
}
