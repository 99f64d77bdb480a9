package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
)

// TestLimitsHoldWhenManyCome: many at once, at two nodes of a store, make as many things
// as the account may have, not one more and not one less.
func TestLimitsHoldWhenManyCome(t *testing.T) {
	seal, err := persistence.NewSeal(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, limit := range map[string]struct {
		most int
		at   func(store persistence.Store) func(name string) error
	}{
		"secrets": {100, func(store persistence.Store) func(string) error {
			s := persistence.NewSecrets(store, seal)
			return func(name string) error {
				_, err := s.Set(ctx, "acc", persistence.Secret{Name: name, Value: "v"})
				return err
			}
		}},
		"flows": {persistence.MaxFlows, func(store persistence.Store) func(string) error {
			f := persistence.NewFlows(store)
			return func(name string) error {
				_, err := f.Put(ctx, "acc", persistence.Flow{Name: name, Source: []byte(`{}`)})
				return err
			}
		}},
		"profiles": {persistence.MaxProfiles, func(store persistence.Store) func(string) error {
			p := persistence.NewProfiles(store, seal)
			return func(name string) error {
				w, err := p.Lock(ctx, "acc", name, "task")
				if err != nil {
					return err
				}
				defer w.Close()
				_, err = w.Save(ctx, []byte(`{}`), persistence.ProfileVersion{})
				return err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			store := persistence.NewMemory()
			defer store.Close()
			nodes := []func(string) error{limit.at(store), limit.at(store)}
			var work sync.WaitGroup
			var mu sync.Mutex
			made := 0
			for i := range limit.most + 30 {
				work.Go(func() {
					err := nodes[i%2](fmt.Sprintf("n%d", i))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						made++
					case !errors.Is(err, persistence.ErrTooMany):
						t.Error(err)
					}
				})
			}
			work.Wait()
			if made != limit.most {
				t.Errorf("%d were made; %d may be", made, limit.most)
			}
		})
	}
}

// TestTurns: a turn of another process is waited for, one whose process is gone ends with
// its time, and what fails ends its turn.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		defer store.Close()
		ctx := context.Background()
		if _, err := store.Put(ctx, persistence.Write{Key: "turn/x", Value: []byte("gone"), Expires: time.Now().Add(7 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		wrong := errors.New("wrong")
		if err := persistence.InTurn(ctx, store, "x", func(context.Context) error { return wrong }); !errors.Is(err, wrong) {
			t.Fatalf("the turn ends with %v", err)
		}
		if waited := time.Since(began); waited < 7*time.Second || waited > 8*time.Second {
			t.Errorf("it waited %s for a process that is gone", waited)
		}
		began = time.Now()
		if err := persistence.InTurn(ctx, store, "x", func(context.Context) error { return nil }); err != nil || time.Since(began) > 0 {
			t.Errorf("the next one waited %s: %v", time.Since(began), err)
		}
		if _, err := store.Put(ctx, persistence.Write{Key: "turn/x", Value: []byte("other"), Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := persistence.InTurn(short, store, "x", func(context.Context) error { t.Error("two have the turn"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who does not wait gets %v", err)
		}
	})
}
