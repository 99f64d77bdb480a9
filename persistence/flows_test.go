package persistence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/need"
)

// TestFlowsAreAsTheirModel: whatever is stored, read and removed in any order, a flow
// has the versions that a list of them would have.
func TestFlowsAreAsTheirModel(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(30) {
		store := NewMemory()
		f, model := NewFlows(store), map[string][]string{}
		gone := map[string]int{} // the last version of a flow that was removed
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "a.b", "a-b", "ab"}
		for step := range 300 {
			name := names[r.IntN(len(names))]
			switch kept := model[name]; r.IntN(12) {
			case 0:
				err := f.Remove(ctx, "ada~1", name)
				if (len(kept) == 0) != errors.Is(err, ErrNotFound) || len(kept) > 0 && err != nil {
					t.Fatalf("seed %d, step %d: remove of %q with %d versions: %v", seed, step, name, len(kept), err)
				}
				if len(kept) > 0 {
					gone[name] += len(kept)
				}
				delete(model, name)
			case 1, 2, 3, 4, 5, 6:
				source := fmt.Sprintf("%s at step %d", name, step)
				got, err := f.Put(ctx, "ada~1", Flow{Name: name, Source: []byte(source)})
				if model[name] = append(kept, source); err != nil || got.Version != gone[name]+len(model[name]) {
					t.Fatalf("seed %d, step %d: put gives %+v, %v", seed, step, got, err)
				}
			default:
				version := r.IntN(gone[name] + len(kept) + 3)
				want := version - gone[name] // among those of this flow
				if version == 0 {
					want = len(kept)
				}
				got, err := f.Get(ctx, "ada~1", name, version)
				there := want > 0 && want <= len(kept) && want > len(kept)-FlowVersions
				switch {
				case !there && !errors.Is(err, ErrNotFound):
					t.Fatalf("seed %d, step %d: version %d of %d is %+v, %v", seed, step, version, len(kept), got, err)
				case there && (err != nil || string(got.Source) != kept[want-1] || got.Version != gone[name]+want):
					t.Fatalf("seed %d, step %d: version %d of %d is %s, %v", seed, step, version, len(kept), got.Source, err)
				}
			}
			all, err := f.List(ctx, "ada~1")
			if err != nil || len(all) != len(model) {
				t.Fatalf("seed %d, step %d: %d flows, want %d: %v", seed, step, len(all), len(model), err)
			}
			for _, one := range all {
				if v := one.Versions(); one.Version != gone[one.Name]+len(model[one.Name]) || v[len(v)-1] != one.Version || len(v) != min(len(model[one.Name]), FlowVersions) {
					t.Fatalf("seed %d, step %d: %s has the versions %v of %d", seed, step, one.Name, v, len(model[one.Name]))
				}
			}
			records, err := store.List(ctx, "flow")
			want := len(gone)
			for _, kept := range model {
				want += min(len(kept), FlowVersions)
			}
			if err != nil || len(records) != want {
				t.Fatalf("seed %d, step %d: %d records, want %d: %v", seed, step, len(records), want, err)
			}
		}
		store.Close()
	}
}

// TestFlowsOfSeveralNodes: nodes that store the same flow at the same time make one
// version each.
func TestFlowsOfSeveralNodes(t *testing.T) {
	ctx := context.Background()
	store := NewMemory()
	defer store.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]string{}
	for node := range 3 {
		f := NewFlows(store)
		wg.Go(func() {
			for i := range 5 {
				source := fmt.Sprintf("%d of node %d", i, node)
				got, err := f.Put(ctx, "ada~1", Flow{Name: "a", Source: []byte(source)})
				mu.Lock()
				if err != nil || seen[got.Version] != "" {
					t.Errorf("version %d: %v", got.Version, err)
				}
				seen[got.Version] = source
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	f := NewFlows(store)
	for v := 1; v <= 15; v++ {
		if got, err := f.Get(ctx, "ada~1", "a", v); err != nil || string(got.Source) != seen[v] || seen[v] == "" {
			t.Errorf("version %d is %q, want %q: %v", v, got.Source, seen[v], err)
		}
	}
}

func TestFlowsHaveLimits(t *testing.T) {
	need.NoRace(t)
	ctx := context.Background()
	store := NewMemory()
	defer store.Close()
	f := NewFlows(store)
	put := func(account, name string, size int) error {
		_, err := f.Put(ctx, account, Flow{Name: name, Source: slices.Repeat([]byte("x"), size)})
		return err
	}
	for i := range MaxFlows {
		if err := put("ada~1", fmt.Sprint("f", i), 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("ada~1", "more", 10); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "at most 200 flows") {
		t.Errorf("one more flow is %v", err)
	}
	if err := put("ada~1", "f0", 10); err != nil {
		t.Errorf("another version of one: %v", err)
	}
	if err := put("bert~1", "f0", 10); err != nil {
		t.Errorf("a flow of another account: %v", err)
	}
	// All versions count, and the one that the next would replace does not.
	size := MaxFlowBytes * 3 / 4 / (FlowVersions + 1) // three bytes become four
	for i := range 2 * FlowVersions {
		if err := put("cy~1", "big", size); err != nil {
			t.Fatalf("version %d: %v", i+1, err)
		}
	}
	if err := put("cy~1", "other", 2*size); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "bytes together") {
		t.Errorf("more bytes are %v", err)
	}
	if err := f.Remove(ctx, "cy~1", "big"); err != nil {
		t.Fatal(err)
	}
	if err := put("cy~1", "other", 2*size); err != nil {
		t.Errorf("after a removal: %v", err)
	}
}

// TestFlowsGoWithTheirAccount: nothing of a deleted account's flows is left.
func TestFlowsGoWithTheirAccount(t *testing.T) {
	ctx := context.Background()
	store := NewMemory()
	defer store.Close()
	accounts, f := NewAccounts(store), NewFlows(store)
	ada, err := accounts.Create(ctx, "ada", "pro")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.Put(ctx, ada.ID, Flow{Name: "a", Source: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	to := NewMemory()
	defer to.Close()
	adopted, err := AdoptAccounts(ctx, store, to, nil, nil)
	if err != nil || adopted.Flows != 1 {
		t.Errorf("%+v, %v", adopted, err)
	}
	for v := 1; v <= 3; v++ {
		if _, err := NewFlows(to).Get(ctx, ada.ID, "a", v); err != nil {
			t.Errorf("version %d in the other store: %v", v, err)
		}
	}
	if err := accounts.Delete(ctx, ada.ID); err != nil {
		t.Fatal(err)
	}
	if left, err := store.List(ctx, "flow"); err != nil || len(left) > 0 {
		t.Errorf("%d records are left: %v", len(left), err)
	}
}
