package http_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"troupe/http"
	"troupe/persistence"
)

// shutting lets nobody in any more once it is shut.
type shutting struct {
	door
	shut  atomic.Bool
	asked atomic.Int32
}

func (d *shutting) Lookup(ctx context.Context, token string) (persistence.Account, error) {
	d.asked.Add(1)
	if d.shut.Load() {
		return persistence.Account{}, persistence.ErrNotFound
	}
	return d.door.Lookup(ctx, token)
}

// TestRevokedTokensSeeNothing: what was opened by a token ends soon after the
// token was revoked.
func TestRevokedTokensSeeNothing(t *testing.T) {
	t.Parallel()
	d := &shutting{}
	h := openHouse(t, func(c *http.Config) { c.Door, c.Heartbeat = d, 50*time.Millisecond })
	r, end := h.playing(acc1)
	defer end()
	c, status, p := h.look("/v1/live/w1", nil, bearerGood)
	if status != 0 {
		t.Fatalf("%d %+v", status, p)
	}
	shows(t, c, r.ID)
	why := make(chan string, 1)
	go func() { why <- ends(t, c) }() // which answers the pings, too
	f := h.follow("/v1/events", bearerGood)
	var n told
	f.until("snapshot", &n)
	asked := d.asked.Load()
	eventually(t, "it is looked whether the token is valid", func() bool { return d.asked.Load() > asked+4 })
	if s := h.LiveStats(); s.Watchers != 1 || s.Feeds != 1 {
		t.Fatalf("while the token is valid: %+v", s)
	}
	d.shut.Store(true)
	if got := <-why; got != "4000 revoked" {
		t.Errorf("a picture ends with %q", got)
	}
	for n := f.next(); n.name != ""; n = f.next() {
	}
	eventually(t, "nobody reads", func() bool { return h.LiveStats().Feeds == 0 })
}
