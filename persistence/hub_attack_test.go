package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"troupe/testkit/need"
)

// TestAttackSlowWatchers: a watcher that reads nothing holds no more bytes of events
// than its budget, however large they are; one that reads hears of all, and a single
// event may be larger than the budget.
func TestAttackSlowWatchers(t *testing.T) {
	need.Time(t)
	t.Parallel()
	for _, size := range []int{0, 10, 64 << 10, MaxValue} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			var h Hub
			defer h.Close()
			slow, err := h.Watch(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			quick, err := h.Watch(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			value := bytes.Repeat([]byte("x"), size)
			for i := range 2 * watchBuffer {
				h.Publish([]Event{{Record: Record{Key: "k", Value: value, Revision: uint64(i)}}})
				if e, ok := <-quick; !ok || e.Revision != uint64(i) || len(e.Value) != size {
					t.Fatalf("event %d: %v, revision %d of %d bytes", i, ok, e.Revision, len(e.Value))
				}
			}
			held, n := 0, 0
			for e := range slow { // closed: what is in it was held until now
				if e.Revision != uint64(n) {
					t.Fatalf("event %d has revision %d", n, e.Revision)
				}
				held, n = held+len(e.Key)+len(e.Value), n+1
			}
			if held > watchBytes || n > watchBuffer || held < watchBytes/2 && n < watchBuffer {
				t.Errorf("%d events of %d bytes were held", n, held)
			}
		})
	}
	t.Run("one large event", func(t *testing.T) {
		t.Parallel()
		var h Hub
		defer h.Close()
		w, err := h.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			h.Publish([]Event{{Record: Record{Key: "k", Value: make([]byte, 2*watchBytes)}}})
			if e, ok := <-w; !ok || len(e.Value) != 2*watchBytes {
				t.Fatalf("%v, %d bytes", ok, len(e.Value))
			}
		}
	})
}
