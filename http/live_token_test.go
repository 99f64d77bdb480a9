package http_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
)

// shutting lets nobody in any more once it is shut.
type shutting struct {
	testAuth
	shut  atomic.Bool
	asked atomic.Int32
}

func (d *shutting) Lookup(ctx context.Context, token string) (persistence.Account, error) {
	d.asked.Add(1)
	if d.shut.Load() {
		return persistence.Account{}, persistence.ErrNotFound
	}
	return d.testAuth.Lookup(ctx, token)
}

func (d *shutting) LookupDigest(ctx context.Context, sum persistence.Digest) (persistence.Account, error) {
	return digested(ctx, d, sum)
}

// TestRevokedTokensSeeNothing: what was opened by a token, or by what was made with
// it, ends soon after the token was revoked, and is not opened again.
//
// Promise: A revoked token is refused at once (docs/security.md).
func TestRevokedTokensSeeNothing(t *testing.T) {
	t.Parallel()
	d := &shutting{}
	h := openLiveServer(t, func(c *http.Config) { c.Auth, c.Heartbeat = d, time.Second }) // three of them without an answer end a picture
	task := h.kit.StartAsync(acc1, testkit.Task(), testkit.Script{Takes: time.Minute}).TaskID
	defer func() {
		d.shut.Store(false)
		h.get("DELETE", "/v1/tasks/"+task, "good", "", nil)
	}()
	c, status, p := h.dialLive("/v1/live/w1", nil, bearerGood)
	if status != 0 {
		t.Fatalf("%d %+v", status, p)
	}
	shows(t, c, task)
	why := make(chan string, 1)
	go func() { why <- ends(t, c) }() // which answers the pings, too
	ticket, link, all := h.ticket("good", task), h.link("good", task), h.ticket("good", "account")
	linked, status, p := h.dialLive("/v1/live/"+task, []string{"troupe.live", link.Link})
	if status != 0 {
		t.Fatalf("%d %+v", status, p)
	}
	shows(t, linked, task)
	over := make(chan string, 1)
	go func() { over <- ends(t, linked) }()
	feeds := []*feed{h.follow("/v1/events", bearerGood), h.follow("/v1/events?ticket=" + all.Ticket)}
	for _, f := range feeds {
		var n feedTask
		f.until("snapshot", &n)
	}
	feeds = append(feeds, h.follow("/v1/tasks/"+task+"/events", bearerGood), h.follow("/v1/tasks/"+task+"/events?ticket="+ticket.Ticket))
	asked := d.asked.Load()
	eventually(t, "it is looked whether the token is valid", func() bool { return d.asked.Load() > asked+4 })
	if s := h.Streams().Stats(); s.Viewers != 2 || s.Feeds != 2 {
		t.Fatalf("while the token is valid: %+v", s)
	}
	d.shut.Store(true)
	for what, why := range map[string]chan string{"of a token": why, "of a link": over} {
		if got := <-why; got != "4000 revoked" {
			t.Errorf("a picture %s ends with %q", what, got)
		}
	}
	for i, f := range feeds {
		for n := f.next(); n.name != ""; n = f.next() {
			if n.name == "end" {
				t.Errorf("stream %d has come to the end of the task", i)
			}
		}
		if err := f.in.Err(); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	for _, target := range []string{"/v1/tasks/" + task + "/events?ticket=" + ticket.Ticket, "/v1/events?ticket=" + all.Ticket} {
		if status := h.get("GET", target, "", "", nil); status != 401 {
			t.Errorf("%s, afterwards: %d", target, status)
		}
	}
	if _, status, p := h.dialLive("/v1/live/"+task, []string{"troupe.live", link.Link}); status != 401 {
		t.Errorf("the link, afterwards: %d %+v", status, p)
	}
	eventually(t, "nobody reads", func() bool { return h.Streams().Stats().Feeds == 0 })
}
