package actors_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
	"troupe/testkit"
)

// askedStore counts what is asked about writers of profiles.
type askedStore struct {
	persistence.Store
	asked atomic.Int64
}

func (s *askedStore) Get(ctx context.Context, key string) (persistence.Record, error) {
	if strings.HasPrefix(key, "profile-writer/") {
		s.asked.Add(1)
	}
	return s.Store.Get(ctx, key)
}

// TestQueuedTasksHearThatTheirProfileIsFree: a task of the queue that waits for a profile
// does not ask the store again and again, and begins soon after the profile is free.
func TestQueuedTasksHearThatTheirProfileIsFree(t *testing.T) {
	var profiles *persistence.Profiles
	v, store := &testkit.Visits{}, &askedStore{Store: persistence.NewMemory()}
	o := profileKit(2, v, time.Second, &profiles)
	o.Store = store
	testkit.Run(t, o, func(t *testing.T, k *testkit.Kit) {
		for _, wait := range []time.Duration{25 * time.Second, 3 * time.Minute} {
			w, err := profiles.Lock(context.Background(), anna.ID, "p", "an import")
			if err != nil {
				t.Fatal(err)
			}
			id := enqueueWith(k, anna, `"p"`, "true")
			before := store.asked.Load()
			time.Sleep(wait)
			if n := store.asked.Load() - before; n > 10+int64(wait/(5*time.Second)) {
				t.Errorf("the store was asked %d times in %s", n, wait)
			}
			freed := time.Now()
			w.Close()
			if p := k.Poll(anna, id, time.Minute); p.Status != api.TaskComplete {
				t.Errorf("%+v", p)
			}
			if took := time.Since(freed); took > 1300*time.Millisecond {
				t.Errorf("a task of a second has ended %s after its profile was free", took)
			}
		}
	})
}
