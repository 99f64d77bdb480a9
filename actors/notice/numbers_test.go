package notice

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"troupe/actors/api"
)

// TestNumbers: what waits and for how long, what became of the rest, and which receivers
// are off. A start again keeps what is on the disk, and begins to count.
func TestNumbers(t *testing.T) {
	inBubble(t, func(b *bed) {
		want := func(what string, want api.NoticeNumbers) {
			t.Helper()
			got := b.Numbers()
			got.Oldest = got.Oldest.Truncate(time.Minute)
			if got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		b.net.set(func(r *http.Request) (int, error) {
			switch r.URL.Host {
			case "down.example":
				return 0, errDown
			case "gone.example":
				return http.StatusGone, nil
			}
			return 204, nil
		})
		b.end("task_1", "down.example", "good.example")
		time.Sleep(3 * time.Minute)
		b.end("task_2", "down.example", "gone.example")
		b.end("task_3", "gone.example")
		time.Sleep(time.Minute)
		want("four minutes", api.NoticeNumbers{Waiting: 2, Oldest: 4 * time.Minute, EndpointsOff: 1, Delivered: 1, Failed: 1, Off: 1})
		b.Stop()
		b.start()
		want("after a start", api.NoticeNumbers{Waiting: 2, Oldest: 4 * time.Minute, EndpointsOff: 1})
		b.net.set(always(204))
		time.Sleep(20 * time.Minute)
		want("it is up", api.NoticeNumbers{EndpointsOff: 1, Delivered: 2})
	})
}

// TestCountsGoOn: a node that delivers again goes on with its counts.
func TestCountsGoOn(t *testing.T) {
	inBubble(t, func(b *bed) {
		counts := &Counts{}
		for i := range 2 {
			b.Stop()
			b.Notices = New(Config{Records: b.disk, Client: &http.Client{Transport: b.net}, Counts: counts})
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.end(fmt.Sprintf("task_%d", i), "good.example")
		}
		if n := b.Numbers().Delivered; n != 2 {
			t.Errorf("%d were delivered", n)
		}
	})
}
