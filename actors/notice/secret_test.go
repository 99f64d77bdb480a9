package notice

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
)

// TestUnreadableSecretsAreKept: a secret that the key does not open is an error, never
// another secret. Notices wait without an attempt, and are signed as before when the key is
// back. Only a rotation, which somebody asks for, makes another one.
func TestUnreadableSecretsAreKept(t *testing.T) {
	inBubble(t, func(b *bed) {
		known := b.secretOf(false).Secret
		if err := b.seal.Use(bytes.Repeat([]byte{9}, 32)); err != nil {
			t.Fatal(err)
		}
		b.end("task_1", "a.example")
		time.Sleep(10 * time.Minute)
		if n := len(b.net.all()); n != 0 {
			t.Fatalf("%d notices were sent, signed by who knows what", n)
		}
		if _, err := b.Secret(t.Context(), &api.NoticeSecret{Account: ada}); !errors.Is(err, persistence.ErrSealed) {
			t.Errorf("the secret is told: %v", err)
		}
		if got := b.seal.Unreadable()["secrets that sign notices"]; got != 1 {
			t.Errorf("%d are counted", got)
		}
		if waiting := b.list(true); len(waiting) != 1 || waiting[0].Attempts != 0 {
			t.Errorf("waiting: %+v", waiting)
		}
		if err := b.seal.Use(make([]byte, 32), bytes.Repeat([]byte{9}, 32)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * unsignedAgain)
		all := b.net.all()
		if len(all) != 1 {
			t.Fatalf("%d notices were sent when the key was back", len(all))
		}
		if err := b.verified(all[0], known); err != nil {
			t.Error(err)
		}
		if b.secretOf(false).Secret != known {
			t.Error("the secret is another one")
		}

		if err := b.seal.Use(bytes.Repeat([]byte{9}, 32)); err != nil { // for good
			t.Fatal(err)
		}
		rotated := b.secretOf(true)
		if rotated.Secret == known || rotated.Previous != "" {
			t.Errorf("rotated: %+v", rotated)
		}
		b.end("task_2", "a.example")
		synctest.Wait()
		if all = b.net.all(); len(all) != 2 {
			t.Fatalf("%d notices were sent", len(all))
		}
		if err := b.verified(all[1], rotated.Secret); err != nil {
			t.Error(err)
		}
	})
}

// TestRetryAfter: receivers say in seconds or as a date how long they want to be left alone.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for said, want := range map[[2]string]time.Duration{
		{"", ""}:                               0,
		{"120", ""}:                            2 * time.Minute,
		{" 7 ", ""}:                            7 * time.Second,
		{"0", ""}:                              0,
		{"-5", ""}:                             0,
		{"999999999999999", ""}:                maxRetryAfter,
		{"soon", ""}:                           0,
		{"Sun, 01 Mar 2026 12:10:00 GMT", ""}:  10 * time.Minute,
		{"Sunday, 01-Mar-26 12:10:00 GMT", ""}: 10 * time.Minute,
		{"Sun Mar  1 12:10:00 2026", ""}:       10 * time.Minute,
		{"Sun, 01 Mar 2026 11:00:00 GMT", ""}:  0,
		{"Mon, 02 Mar 2026 12:00:00 GMT", ""}:  maxRetryAfter,
		{"Sun, 01 Mar 2026 15:10:00 GMT", "Sun, 01 Mar 2026 15:05:00 GMT"}: 5 * time.Minute,
	} {
		h := http.Header{"Retry-After": {said[0]}}
		if said[1] != "" {
			h.Set("Date", said[1])
		}
		if got := retryAfter(h, now); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}
