package notice

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
)

// TestNoticeBounds: how many notices wait and are sent at once, how many endpoints there
// are, and how large a result in a notice is.
func TestNoticeBounds(t *testing.T) {
	inBubble(t, func(b *bed) {
		sending := map[string]int{}
		most := map[string]int{}
		total, peak := 0, 0
		hold := make(chan struct{})
		b.net.set(func(r *http.Request) (int, error) {
			b.net.mu.Lock()
			sending[r.URL.Host]++
			total++
			most[r.URL.Host], peak = max(most[r.URL.Host], sending[r.URL.Host]), max(peak, total)
			b.net.mu.Unlock()
			<-hold
			time.Sleep(time.Second)
			b.net.mu.Lock()
			sending[r.URL.Host]--
			total--
			b.net.mu.Unlock()
			if r.URL.Host == "bad.example" {
				return 500, nil
			}
			return 204, nil
		})
		for i := range 12 {
			b.end(fmt.Sprintf("task_%d", i), "bad.example")
			for h := range 8 {
				b.end(fmt.Sprintf("task_%d_%d", i, h), fmt.Sprintf("h%d.example", h))
			}
		}
		time.Sleep(time.Second)
		b.net.mu.Lock()
		if peak != perAccount || most["h0.example"] != perLine || most["bad.example"] != perLine {
			t.Errorf("%d were sent at once: %v", peak, most)
		}
		b.net.mu.Unlock()
		close(hold)
		time.Sleep(10 * time.Second)
		if n := len(b.list(false)); n != 96 {
			t.Errorf("%d were delivered", n)
		}
		b.net.mu.Lock()
		most["bad.example"] = 0
		b.net.mu.Unlock()
		time.Sleep(30 * time.Second) // further attempts: no more than one at once
		b.net.mu.Lock()
		if n := most["bad.example"]; n != 1 {
			t.Errorf("a host that fails got %d at once", n)
		}
		b.net.mu.Unlock()

		b.mu.Lock()
		a := b.of("bert~1")
		for i := range MaxWaiting {
			b.push(a, &entry{id: fmt.Sprint(i), host: "later.example", at: time.Now().Add(time.Hour), due: b.cfg.Clock.After(time.Now(), time.Hour), index: -1})
		}
		b.mu.Unlock()
		if ctx := b.t.Context(); !b.Full(ctx, "bert~1", true) || b.Full(ctx, "bert~1", false) || b.Full(ctx, ada.ID, true) {
			t.Error("another account is full, or one whose task has no receivers, or the one with 100,000 is not")
		}
		b.Forget("bert~1")

		for i := range maxEndpoints + 1 {
			x, err := b.PutEndpoint(b.t.Context(), &api.PutEndpoint{Account: ada, Notify: engine.Notify{URL: fmt.Sprintf("https://p%d.example/", i), Events: []engine.NoticeEvent{engine.NoticeEnd}}})
			if err != nil || (x.Refusal != nil) != (i == maxEndpoints) {
				t.Fatalf("endpoint %d: %+v, %v", i, x, err)
			}
		}
	})
	inBubble(t, func(b *bed) {
		for i, size := range []int{1 << 10, 2 << 20} {
			id := fmt.Sprintf("task_%d", i)
			sealed, err := b.disk.SealNotify(id, []engine.Notify{{URL: "https://a.example/", Events: []engine.NoticeEvent{engine.NoticeEnd}, Result: true}})
			if err != nil {
				t.Fatal(err)
			}
			b.cfg.Result = func(p *api.Polled) ([]byte, error) { return p.Executed.Outcome.Data, nil }
			out := &engine.Outcome{End: engine.EndCompleted, Data: []byte(`"` + strings.Repeat("x", size) + `"`)}
			rec := records.Task{ID: id, Account: ada.ID, Status: api.TaskComplete, Started: time.Now(), Ended: time.Now(), Notify: sealed}
			if err := b.disk.EndTask(b.t.Context(), rec, nil, out, ""); err != nil {
				t.Fatal(err)
			}
			b.Ended(ada.ID, id)
			synctest.Wait()
			got := b.net.all()
			body := string(got[len(got)-1].body)
			if large := size > 1<<20; len(got) != i+1 || strings.Contains(body, `"resultTooLarge":true`) != large || strings.Contains(body, `"result":"xx`) == large {
				t.Errorf("%d bytes: %.300s", size, body)
			}
		}
	})
}

// TestAccountsAreDropped: of an account whose notices are delivered nothing stays in memory.
// One that has a failing receiver stays until that is known to work, or was switched on.
func TestAccountsAreDropped(t *testing.T) {
	inBubble(t, func(b *bed) {
		known := func(want int) {
			t.Helper()
			b.mu.Lock()
			defer b.mu.Unlock()
			if n := len(b.accounts); n != want {
				t.Errorf("%d accounts are in memory, want %d", n, want)
			}
		}
		b.end("t1", "a.example", "b.example")
		known(0)
		b.net.set(always(500))
		b.end("t2", "a.example")
		known(1)
		b.net.set(always(204))
		time.Sleep(time.Hour)
		known(0)
		if n := len(b.list(true)); n != 0 {
			t.Errorf("%d notices wait", n)
		}
		b.end("t3", "a.example")
		known(0)
		if n := len(b.net.all()); n != 5 {
			t.Errorf("%d attempts, want 5", n)
		}
	})
}
