package persistence_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
	"troupe/persistence/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store { return persistence.NewMemory() })
}

// A store in memory lives in fake time: its expiry needs no waiting, and
// nothing of it is left when the bubble ends.
func TestMemoryInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := persistence.NewMemory()
		ch, err := s.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, w := range []persistence.Write{
			{Key: "late", Expires: start.Add(3 * time.Hour)},
			{Key: "early", Expires: start.Add(time.Hour)},
		} {
			if _, err := s.Put(context.Background(), w); err != nil {
				t.Fatal(err)
			}
			<-ch
		}
		for i, want := range []string{"early", "late"} {
			e := <-ch
			if e.Key != want || !e.Deleted || time.Since(start) != time.Duration(1+2*i)*time.Hour {
				t.Fatalf("after %v: %+v, want the expiry of %s", time.Since(start), e, want)
			}
		}
		s.Close()
	})
}
