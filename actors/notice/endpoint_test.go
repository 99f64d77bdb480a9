package notice

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/testkit/need"
)

// TestSwitchedOff: an endpoint that has failed for five days is switched off. The other
// endpoints hear of it, and it can be switched on again.
func TestSwitchedOff(t *testing.T) {
	inBubble(t, func(b *bed) {
		for _, host := range []string{"bad.example", "good.example"} {
			x, err := b.PutEndpoint(b.t.Context(), &api.PutEndpoint{Account: ada, Notify: engine.Notify{URL: "https://" + host + "/hook", Events: []engine.NoticeEvent{engine.NoticeEnd}}})
			if err != nil || x.Refusal != nil {
				t.Fatal(x, err)
			}
		}
		down := func(r *http.Request) (int, error) {
			if r.URL.Host == "bad.example" {
				return 0, errDown
			}
			return 204, nil
		}
		b.net.set(down)
		for day := range 6 {
			b.end(fmt.Sprintf("task_%d", day))
			time.Sleep(24 * time.Hour)
			if day == 2 {
				b.Stop()
				b.start()
			}
		}
		bad := records.EndpointID("https://bad.example/hook")
		var told []received
		before := 0
		for _, r := range b.net.all() {
			if strings.Contains(string(r.body), `"type":"endpoint.off"`) {
				told = append(told, r)
			}
			if r.host == "bad.example" {
				before++
			}
		}
		if len(told) != 1 || told[0].host != "good.example" || !strings.Contains(string(told[0].body), bad) {
			t.Fatalf("told of it: %+v", told)
		}
		l, err := b.Endpoints(b.t.Context(), &api.ListEndpoints{Account: ada})
		if err != nil || len(l.Endpoints) != 2 || l.Endpoints[0].Off.IsZero() || !l.Endpoints[1].Off.IsZero() || !strings.Contains(l.Endpoints[0].Reason, "connection refused") {
			t.Fatalf("%+v, %v", l, err)
		}
		if d := l.Endpoints[0].Off.Sub(l.Endpoints[0].Failing); d < 5*24*time.Hour || d > 6*24*time.Hour {
			t.Errorf("off after %v", d)
		}
		b.net.set(always(204))
		b.end("task_off")
		time.Sleep(24 * time.Hour)
		after, off := 0, ""
		for _, r := range b.net.all() {
			if r.host == "bad.example" {
				after++
			}
		}
		for _, n := range b.list(false) {
			if n.Status == api.NoticeOff && n.About == "task_off" {
				off = n.ID
			}
		}
		if after != before || off == "" {
			t.Fatalf("%d attempts while it was off; the notice is %q", after-before, off)
		}
		if x, err := b.Redeliver(b.t.Context(), &api.Redeliver{Account: ada, ID: off}); err != nil || x.Refusal == nil {
			t.Errorf("sent to an endpoint that is off: %+v, %v", x, err)
		}
		if x, err := b.ChangeEndpoint(b.t.Context(), &api.ChangeEndpoint{Account: ada, ID: bad, Change: api.EndpointEnable}); err != nil || x.Refusal != nil || !x.Endpoint.Off.IsZero() {
			t.Fatal(x, err)
		}
		if x, err := b.Redeliver(b.t.Context(), &api.Redeliver{Account: ada, ID: off}); err != nil || x.Refusal != nil {
			t.Fatal(x, err)
		}
		synctest.Wait()
		if x, err := b.Get(b.t.Context(), &api.GetNotice{Account: ada, ID: off}); err != nil || x.Notice.Status != api.NoticeDelivered {
			t.Errorf("%+v, %v", x.Notice, err)
		}
	})
}

// TestGone: a receiver that answers 410 is switched off at once.
func TestGone(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.net.set(always(410))
		b.end("task_1", "gone.example")
		b.end("task_2", "gone.example")
		l, err := b.Endpoints(b.t.Context(), &api.ListEndpoints{Account: ada})
		if err != nil || len(l.Endpoints) != 1 || l.Endpoints[0].Off.IsZero() || len(b.net.all()) != 1 {
			t.Errorf("%+v, %v, %d attempts", l, err, len(b.net.all()))
		}
	})
}

// TestSecretsRotate: for a day after a rotation, both secrets verify what is sent.
//
// Promise: After a rotation, the previous secret signs for 24 hours
// (docs/notices.md#the-secret).
func TestSecretsRotate(t *testing.T) {
	inBubble(t, func(b *bed) {
		old := b.secretOf(false)
		if again := b.secretOf(false); old.Previous != "" || again.Secret != old.Secret || !strings.HasPrefix(old.Secret, "whsec_") {
			t.Fatalf("%+v, then %+v", old, again)
		}
		now := b.secretOf(true)
		if now.Secret == old.Secret || now.Previous != old.Secret {
			t.Fatalf("%+v", now)
		}
		verifies := func(task string, want bool) {
			t.Helper()
			b.end(task, "a.example")
			all := b.net.all()
			last := all[len(all)-1]
			if err := b.verified(last, now.Secret); err != nil {
				t.Errorf("%s: the new secret: %v", task, err)
			}
			if err := b.verified(last, old.Secret); (err == nil) != want {
				t.Errorf("%s: the old secret: %v", task, err)
			}
		}
		verifies("task_1", true)
		time.Sleep(25 * time.Hour)
		verifies("task_2", false)
		if s := b.secretOf(false); s.Previous != "" || s.Secret != now.Secret {
			t.Errorf("%+v", s)
		}
	})
}

// TestForgotten: nothing is sent for an account that was removed, and nothing is left of
// it.
func TestForgotten(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.net.set(func(r *http.Request) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})
		b.end("task_1", "a.example", "b.example")
		b.secretOf(true)
		b.Forget(ada.ID)
		if err := b.disk.EraseAccount(context.Background(), ada.ID); err != nil {
			t.Fatal(err)
		}
		tried := len(b.net.all())
		time.Sleep(48 * time.Hour)
		left, err := b.store.List(context.Background(), "notice")
		if err != nil || len(left) != 0 || len(b.net.all()) != tried {
			t.Errorf("left: %+v, %v; %d attempts more", left, err, len(b.net.all())-tried)
		}
	})
}

// TestSameEndSameNotice: an end that is written again, as after a kill, makes no second
// notice.
func TestSameEndSameNotice(t *testing.T) {
	inBubble(t, func(b *bed) {
		b.net.set(always(500))
		b.end("task_1", "a.example")
		all, err := b.store.List(b.t.Context(), records.TaskPrefix)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		var rec records.Task
		if err := records.EachJSON(b.t.Context(), b.disk, records.TaskPrefix, func(t records.Task) { rec = t }); err != nil {
			t.Fatal(err)
		}
		rec.Ended = rec.Ended.Add(time.Hour)
		if err := b.disk.EndTask(b.t.Context(), rec, nil, &engine.Outcome{End: engine.EndCompleted}, ""); err != nil {
			t.Fatal(err)
		}
		if n := b.list(true); len(n) != 1 {
			t.Errorf("%d notices", len(n))
		}
	})
}

// TestManyFailingReceivers: how many failing receivers of an account are known is bounded,
// and those of old tasks make room. One that is off stays so over months and a restart.
func TestManyFailingReceivers(t *testing.T) {
	need.NoRace(t)
	inBubble(t, func(b *bed) {
		b.net.set(always(410))
		b.end("task_gone", "gone.example")
		b.net.set(always(500))
		known := func() int {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.of(ada.ID).states)
		}
		for i := range maxStates + 5 {
			b.end(fmt.Sprintf("task_%d", i), fmt.Sprintf("h%d.example", i))
		}
		if n := known(); n != maxStates {
			t.Errorf("%d receivers are known", n)
		}
		time.Sleep(7 * 24 * time.Hour)
		b.end("task_later", "later.example")
		if n := known(); n > 10 {
			t.Errorf("after a week %d receivers are known", n)
		}
		time.Sleep(60 * 24 * time.Hour)
		b.Stop()
		b.start()
		l, err := b.Endpoints(b.t.Context(), &api.ListEndpoints{Account: ada})
		if err != nil || len(l.Endpoints) != 1 || l.Endpoints[0].Notify.URL != "https://gone.example/hook" || l.Endpoints[0].Off.IsZero() {
			t.Errorf("%+v, %v", l, err)
		}
	})
}
