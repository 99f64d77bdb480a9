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

// deafStore writes claims of tasks, and says for some that nobody knows.
type deafStore struct {
	persistence.Store
	deaf atomic.Int32
}

func (s *deafStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	revision, err := s.Store.Put(ctx, w)
	if strings.HasPrefix(w.Key, "task/") && s.deaf.Add(-1) >= 0 {
		return 0, persistence.ErrNoQuorum
	}
	return revision, err
}

// TestClaimsWithoutAnswers: a task whose claim was written, and whose node did not hear of that,
// has not begun. It begins later, also where it waits for its second attempt.
func TestClaimsWithoutAnswers(t *testing.T) {
	for _, lost := range []int32{1, 3} {
		store := &deafStore{Store: persistence.NewMemory()}
		testkit.Run(t, testkit.Options{Workers: 1, Store: store, Engine: takes(time.Second)}, func(t *testing.T, k *testkit.Kit) {
			store.deaf.Store(lost)
			id := enqueue(k, anna, `true`).TaskID
			p := k.Poll(anna, id, time.Hour)
			if p.Status != api.TaskComplete {
				t.Errorf("%d claims lost: it ended as %+v", lost, p)
			}
			k.AwaitIdle()
			if got := playedTasks(k); len(got) != 1 {
				t.Errorf("%d claims lost: played: %q", lost, got)
			}
			if l, err := api.Ask(context.Background(), k.Node, &api.ListQueue{Account: anna, List: api.ListWaiting, Most: 10}); err != nil || len(l.Tasks) > 0 {
				t.Errorf("%d claims lost: it waits: %+v, %v", lost, l, err)
			}
		})
	}
}
