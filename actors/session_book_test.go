package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence"
)

// stallingStore takes no record of a session until so many have run out of time.
type stallingStore struct {
	persistence.Store
	stalls chan struct{} // one for each
}

func (s *stallingStore) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if strings.HasPrefix(w.Key, records.SessionPrefix) {
		select {
		case <-s.stalls:
			<-ctx.Done()
			return 0, context.Cause(ctx)
		default:
		}
	}
	return s.Store.Put(ctx, w)
}

// withBook runs f with the book of a session, on a disk that lets the first
// writes of it wait until they may no longer.
func withBook(t *testing.T, stalls int, f func(*testing.T, *sessionBook)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &stallingStore{persistence.NewMemory(), make(chan struct{}, stalls)}
		defer store.Close()
		for range stalls {
			store.stalls <- struct{}{}
		}
		seal, err := persistence.NewSeal(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := Config{Engine: noEngine{}, Store: store, Files: persistence.NewMemoryFiles(), Seal: seal, Workers: SharedWorkers("", 1)}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		n := &nodeParts{cfg: cfg, log: zerolog.Nop()}
		if n.records, err = records.Open(cfg.records()); err != nil {
			t.Fatal(err)
		}
		f(t, newSessionBook(n, recoveredSession{}))
		n.background.Wait()
		n.background.goroutines.close()
	})
}

// written is how a write ended, and when.
type written struct {
	err  error
	took time.Duration
}

// writes lets the book write a session again and again, all at once.
func writes(b *sessionBook, n int) []written {
	began := time.Now()
	all, done := make([]written, n), make(chan struct{}, n)
	for i := range n {
		rec := records.Session{ID: "s1", Account: "anna", Deadline: began.Add(time.Hour), Timeout: time.Duration(i)}
		b.write(rec, json.RawMessage(fmt.Sprint(i)), func(err error) {
			all[i] = written{err, time.Since(began)}
			done <- struct{}{}
		})
	}
	for range n {
		<-done
	}
	return all
}

// TestStalledWriteSpendsItsOwnTime: each write of a session has its own time from
// when it begins, whatever those before it took.
func TestStalledWriteSpendsItsOwnTime(t *testing.T) {
	withBook(t, 2, func(t *testing.T, b *sessionBook) {
		all := writes(b, 4)
		for i, w := range all {
			took := min(time.Duration(i+1), 2) * api.WriteTimeout
			if stalled := i < 2; errors.Is(w.err, context.DeadlineExceeded) != stalled || !stalled && w.err != nil || w.took != took {
				t.Errorf("write %d ended after %v with %v, want it after %v", i, w.took, w.err, took)
			}
		}
		rec, _, err := b.node.records.SessionAt(t.Context(), "s1")
		if err != nil || rec.Timeout != 3 {
			t.Errorf("on disk is %+v (%v), want the last write", rec, err)
		}
	})
}

// TestWritesThatWaitAreBounded: while the disk stalls, a bounded number of writes
// wait, and further ones fail at once.
func TestWritesThatWaitAreBounded(t *testing.T) {
	const more = 20
	withBook(t, 1, func(t *testing.T, b *sessionBook) {
		all := writes(b, 1+maxWrites+more)
		refused := 0
		for i, w := range all {
			switch {
			case errors.Is(w.err, errWritesWait):
				if refused++; w.took > 0 {
					t.Errorf("write %d was refused after %v", i, w.took)
				}
			case i > 0 && w.err != nil:
				t.Errorf("write %d failed: %v", i, w.err)
			}
		}
		if refused < more || refused > more+1 {
			t.Errorf("%d of %d writes were refused", refused, len(all))
		}
	})
}
