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

// TestReceiverIsDown: a receiver that is down for ten minutes gets each notice once it
// is back, with the identifier of the first attempt, also where the service was started
// again meanwhile.
func TestReceiverIsDown(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.net.set(func(*http.Request) (int, error) { return 0, errDown })
		for i := range 20 {
			b.end(fmt.Sprintf("task_%d", i), "down.example")
		}
		time.Sleep(4 * time.Minute)
		b.Stop()
		b.start()
		time.Sleep(6 * time.Minute)
		tried := map[string]int{}
		for _, r := range b.net.all() {
			tried[r.id]++
		}
		if len(tried) != 20 {
			t.Fatalf("%d notices were tried", len(tried))
		}
		b.net.set(always(200))
		time.Sleep(15 * time.Minute)
		done := map[string]int{}
		secret := b.secretOf(false).Secret
		for _, r := range b.net.all() {
			if r.status == 200 {
				done[r.id]++
				if tried[r.id] == 0 {
					t.Errorf("%s is another identifier than before", r.id)
				}
				if time.Since(r.at) < 5*time.Minute {
					if err := b.verified(r, secret); err != nil {
						t.Error(err)
					}
				}
			}
		}
		for id, n := range done {
			if n != 1 {
				t.Errorf("%s was delivered %d times", id, n)
			}
		}
		if len(done) != 20 || len(b.list(true)) != 0 || len(b.list(false)) != 20 {
			t.Errorf("%d were delivered; %d wait, %d are in the log", len(done), len(b.list(true)), len(b.list(false)))
		}
	})
}

// TestSlowReceiverHoldsUpNobody: beside receivers that never answer, others get their
// notices at once.
//
// Promise: A slow receiver does not delay others (docs/notices.md#delivery).
func TestSlowReceiverHoldsUpNobody(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.net.set(func(r *http.Request) (int, error) {
			if strings.HasPrefix(r.URL.Host, "slow") {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}
			return 204, nil
		})
		for i := range 50 {
			b.end(fmt.Sprintf("task_slow_%d", i), "slow1.example", "slow2.example", "slow3.example")
		}
		began := time.Now()
		for i := range 50 {
			b.end(fmt.Sprintf("task_%d", i), "fast.example")
		}
		if n := len(b.list(false)); n != 50 || time.Since(began) > 0 {
			t.Errorf("%d notices after %v", n, time.Since(began))
		}
		for _, n := range b.list(false) {
			if n.URL != "https://fast.example/hook" || n.Status != api.NoticeDelivered || n.Attempts != 1 || n.Tries[0].Status != 204 {
				t.Errorf("%+v", n)
			}
		}
		time.Sleep(time.Minute)
		late := 0
		for _, n := range b.list(true) {
			for _, try := range n.Tries {
				if late++; try.Error != "no answer within 15s" || try.Took != 15*time.Second {
					t.Errorf("%+v", n)
				}
			}
		}
		if late < 3 {
			t.Errorf("%d attempts were late", late)
		}
	})
}

// TestGivenUpAfterADay: a notice whose receiver answers 500 is tried for a day, with
// growing delays, and can be sent by hand then.
//
// Promise: Attempts end after a day (docs/notices.md#delivery).
func TestGivenUpAfterADay(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.net.set(always(500))
		began := time.Now()
		b.end("task_1", "bad.example")
		time.Sleep(23 * time.Hour)
		if n := b.list(true); len(n) != 1 || n[0].Attempts != len(standardDelays) || n[0].Next.IsZero() {
			t.Fatalf("after 23 hours: %+v", n)
		}
		time.Sleep(4 * time.Hour)
		all := b.net.all()
		for i := 2; i < len(all); i++ {
			if a, c := all[i-1].at.Sub(all[i-2].at), all[i].at.Sub(all[i-1].at); c <= a {
				t.Errorf("attempt %d after %v, and the one before after %v", i+1, c, a)
			}
		}
		if last := all[len(all)-1].at.Sub(began); last < 24*time.Hour || last > 27*time.Hour {
			t.Errorf("the last attempt was after %v", last)
		}
		n := b.list(false)
		if len(n) != 1 || n[0].Status != api.NoticeFailed || n[0].Attempts != len(standardDelays)+1 || n[0].Tries[0].Error != "the receiver answered 500" {
			t.Fatalf("%+v", n)
		}
		b.net.set(always(200))
		if x, err := b.Redeliver(t.Context(), &api.Redeliver{Account: ada, ID: n[0].ID}); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		synctest.Wait()
		if n := b.list(false); len(n) != 1 || n[0].Status != api.NoticeDelivered {
			t.Errorf("%+v", n)
		}
		if all := b.net.all(); all[len(all)-1].id != n[0].ID {
			t.Errorf("delivered as %s", all[len(all)-1].id)
		}
		for _, id := range []string{"msg_1", n[0].ID[:len(n[0].ID)-1] + "!", ""} {
			if x, err := b.Redeliver(t.Context(), &api.Redeliver{Account: ada, ID: id}); err != nil || x.Refusal == nil {
				t.Errorf("%q: %+v, %v", id, x, err)
			}
		}
	})
}

// TestEndsThatNobodySees: a notice leaves when clients see the end, or, where the actor of
// the task has failed before, a little later.
func TestEndsThatNobodySees(t *testing.T) {
	inBubble(t, func(b *bed) {
		began := time.Now()
		for i, id := range []string{"task_seen", "task_unseen"} {
			sealed, err := b.disk.SealNotify(id, []engine.Notify{{URL: "https://a.example/", Events: []engine.NoticeEvent{engine.NoticeEnd}}})
			if err != nil {
				t.Fatal(err)
			}
			rec := records.Task{ID: id, Account: ada.ID, Status: api.TaskComplete, Started: began, Ended: began, Notify: sealed}
			if err := b.disk.EndTask(t.Context(), rec, nil, &engine.Outcome{End: engine.EndCompleted}, ""); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); len(b.net.all()) != i {
				t.Fatalf("%s was told before its end could be seen", id)
			}
			if i == 0 {
				b.Ended(ada.ID, id)
				synctest.Wait()
			}
		}
		time.Sleep(earlyAtMost)
		synctest.Wait()
		if n := len(b.net.all()); n != 2 || len(b.list(true)) != 0 {
			t.Errorf("%d were told; %d wait", n, len(b.list(true)))
		}
	})
}
