package cluster_test

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/cluster/store"
	"troupe/persistence"
)

// Counts of worker nodes cost the nodes that keep the store few writes, however many worker
// nodes there are: they are gathered, and none is lost.
func TestCountsOfWorkerNodesGoTogether(t *testing.T) {
	t.Parallel()
	cfgs, hubs := keeperConfigs(t)
	keepers := joinAll(t, cfgs)
	var at *store.Store
	for _, m := range keepers {
		at = openStore(t, m)
	}
	var workers []*store.Store
	for _, name := range []string{"w1", "w2", "w3"} {
		m := join(t, workerConfig(t, name, hubs))
		ready(t, m)
		workers = append(workers, openStore(t, m))
	}
	changes, err := at.Watch(t.Context(), "usage/")
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	go func() {
		for range changes {
			writes.Add(1)
		}
	}()
	began := time.Now()
	var added atomic.Int64
	var all sync.WaitGroup
	for _, s := range workers {
		for range 10 {
			all.Go(func() {
				for range 8 {
					switch _, _, err := s.Add(ctx, "usage/a/day", 1, 0, time.Time{}); {
					case err == nil:
						added.Add(1)
					case !errors.Is(err, persistence.ErrNoQuorum): // on a busy machine it is not always known whether one was counted
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	most := int64(len(keepers)) * (int64(time.Since(began)/(200*time.Millisecond)) + 2)
	r, err := at.Get(ctx, "usage/a/day")
	n, no := strconv.ParseInt(string(r.Value), 10, 64)
	if least := added.Load(); err != nil || no != nil || n < least || n > 240 || least < 120 {
		t.Errorf("%s are counted of 240, and %d were told to be: %v", r.Value, least, err)
	}
	if n := writes.Load(); n > most {
		t.Errorf("240 additions were %d writes, more than %d", n, most)
	}
}
