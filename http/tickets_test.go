package http_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/http"
	"troupe/persistence"
)

// others stands for the other nodes of an edge.
type others struct{ edges []*edge }

func (o *others) Pause(context.Context, string, *bool) (api.Status, error) {
	return api.Status{}, nil
}

func (o *others) SessionTicket(_ context.Context, sum []byte, session string, use bool) []byte {
	for _, e := range o.edges {
		if b := e.SessionTicket(sum, session, use); b != nil {
			return b
		}
	}
	return nil
}

func (o *others) StopClients() {}

func (o *others) EndClients(_ context.Context, account, session, why string) (found bool) {
	for _, e := range o.edges {
		found = e.EndClients(account, session, why) || found
	}
	return found
}

func (o *others) LinkViewers(_ context.Context, account string) map[string]int {
	all := map[string]int{}
	for _, e := range o.edges {
		for id, n := range e.LinkViewers(account) {
			all[id] += n
		}
	}
	return all
}

// TestTicketsHoldAtAllNodes: two edges that share a store take each other's
// tickets and links at once, count who looks together, and end what is open at
// the other when one is revoked.
//
// Promise: A ticket is valid at all nodes, and its revocation holds at all of them
// (docs/cluster.md).
func TestTicketsHoldAtAllNodes(t *testing.T) {
	beside(t)
	store := persistence.NewMemory()
	t.Cleanup(func() { store.Close() }) // after the edges have ended
	company := &others{}
	first := openLiveServer(t, func(c *http.Config) { c.Tickets, c.OtherNodes = store, company })
	second := &liveServer{openServer(t, first.kit.Node, func(c *http.Config) {
		c.Live, c.Tickets, c.OtherNodes = first.kit.Node, store, &others{[]*edge{first.edge}}
	}), first.kit, t}
	company.edges = []*edge{second.edge}
	r, end := first.playing(acc1)
	defer end()

	ticket, link := first.ticket("good", r.ID), first.link("good", "w1")
	byTicket, status, p := second.dialLive("/v1/live/"+r.ID+"?ticket="+ticket.Ticket, nil)
	if status != 0 {
		t.Fatalf("a ticket at the other node: %d %+v", status, p)
	}
	shows(t, byTicket, r.ID)
	byLink, status, p := second.dialLive("/v1/live/w1", []string{"troupe.live", link.Link})
	if status != 0 {
		t.Fatalf("a link at the other node: %d %+v", status, p)
	}
	shows(t, byLink, r.ID)
	if _, status, _ := second.dialLive("/v1/live/w1?ticket="+ticket.Ticket, nil); status != 401 {
		t.Errorf("a ticket for something else: %d", status)
	}
	for name, h := range map[string]*liveServer{"where it was made": first, "at the other": second} {
		var list struct {
			Links []struct {
				ID, Label string
				Watching  int
			}
		}
		eventually(t, "it is known "+name, func() bool {
			h.get("GET", "/v1/links", "good", "", &list)
			return len(list.Links) == 1
		})
		if l := list.Links[0]; l.ID != link.ID || l.Watching != 1 || l.Label != "for the review" {
			t.Errorf("the links %s are %+v", name, list)
		}
		if h.get("GET", "/v1/links", "small", "", &list); len(list.Links) != 0 {
			t.Errorf("another account's %s are %+v", name, list)
		}
	}

	if status := first.get("DELETE", "/v1/links/"+link.ID, "small", "", nil); status != 404 {
		t.Errorf("somebody else revokes it: %d", status)
	}
	if status := first.get("DELETE", "/v1/links/"+link.ID, "good", "", nil); status != 200 {
		t.Errorf("revoked: %d", status)
	}
	if why := ends(t, byLink); why != "4000 revoked" {
		t.Errorf("what is open at the other node ends with %q", why)
	}
	if _, status, _ := second.dialLive("/v1/live/w1", []string{"troupe.live", link.Link}); status != 401 {
		t.Errorf("a link that was revoked elsewhere: %d", status)
	}
	if status := second.get("DELETE", "/v1/links/"+link.ID, "good", "", nil); status != 404 {
		t.Errorf("revoked twice: %d", status)
	}
	shows(t, byTicket, r.ID) // that goes on

	// One that was made at the other node is revoked at once, heard of or not.
	fresh := second.ticket("good", r.ID)
	if status := first.get("DELETE", "/v1/tickets/"+fresh.ID, "good", "", nil); status != 200 {
		t.Errorf("revoked: %d", status)
	}
	if _, status, _ := second.dialLive("/v1/live/"+r.ID+"?ticket="+fresh.Ticket, nil); status != 401 {
		eventually(t, "it does not hold any more", func() bool {
			_, status, _ := second.dialLive("/v1/live/"+r.ID+"?ticket="+fresh.Ticket, nil)
			return status == 401
		})
	}
}

// lost is a store whose other nodes are not there.
type lost struct{ persistence.Store }

func (lost) Get(context.Context, string) (persistence.Record, error) {
	return persistence.Record{}, persistence.ErrNoQuorum
}
func (lost) Put(context.Context, persistence.Write) (uint64, error) {
	return 0, persistence.ErrNoQuorum
}
func (lost) Watch(context.Context, string) (<-chan persistence.Event, error) {
	return nil, persistence.ErrClosed
}

// TestTicketsNeedAMajority: one that could not be written down is not given out.
func TestTicketsNeedAMajority(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t, func(c *http.Config) { c.Tickets = lost{} })
	r, end := h.playing(acc1)
	defer end()
	var p problem
	if status := h.get("POST", "/v1/tickets", "good", `{"object":"`+r.ID+`"}`, &p); status != 503 || p.Code != "no_quorum" {
		t.Errorf("a ticket: %d %+v", status, p)
	}
	if _, status, p := h.dialLive("/v1/live/"+r.ID+"?ticket=ticket_that-somebody-may-have-made", nil); status != 503 || p.Code != "no_quorum" {
		t.Errorf("looking: %d %+v", status, p)
	}
}

// followed is a store that knows who follows it.
type followed struct {
	persistence.Store
	lost bool
	then int // how many followed it when its edge had ended

	mu  sync.Mutex
	all []context.Context
}

func (s *followed) Watch(ctx context.Context, prefix string) (<-chan persistence.Event, error) {
	s.mu.Lock()
	s.all = append(s.all, ctx)
	s.mu.Unlock()
	if s.lost {
		return nil, persistence.ErrNoQuorum
	}
	return s.Store.Watch(ctx, prefix)
}

// followers is how many there were, and how many there still are.
func (s *followed) followers() (ever, now int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ctx := range s.all {
		if ctx.Err() == nil {
			now++
		}
	}
	return len(s.all), now
}

// TestFollowerEndsWithTheServer: nothing of an edge that has ended goes on, also
// where it never got to serve or its store never answers. The store goes on.
func TestFollowerEndsWithTheServer(t *testing.T) {
	var all []*followed
	for _, tc := range []struct {
		name   string
		serves bool
		lost   bool
	}{{name: "served", serves: true}, {name: "did not get to serve"}, {name: "store lost", lost: true}} {
		memory := persistence.NewMemory()
		t.Cleanup(func() { memory.Close() })
		t.Run(tc.name, func(t *testing.T) {
			store := &followed{Store: memory, lost: tc.lost}
			s, err := http.New(http.Config{
				Actors: struct{ http.Actors }{}, Auth: testAuth{}, Uploads: t.TempDir() + "/uploads", Tickets: store,
			})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "somebody follows the store", func() bool { ever, _ := store.followers(); return ever > 0 })
			served := make(chan error, 1)
			if tc.serves {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				go func() { served <- s.Serve(ln) }()
			} else {
				served <- nil
			}
			ctx, cancel := context.WithTimeout(context.Background(), hang)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			ever, now := store.followers()
			if now != 0 {
				t.Errorf("%d follow the store after the end", now)
			}
			store.then = ever
			all = append(all, store)
		})
	}
	time.Sleep(2 * time.Second) // longer than it waits before it tries again
	for _, store := range all {
		if ever, _ := store.followers(); ever != store.then {
			t.Errorf("the store was followed %d times more after the end", ever-store.then)
		}
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("(*tickets).follow")) || bytes.Contains(stacks, []byte("(*tickets).hear")) {
		t.Errorf("a goroutine still follows:\n%s", stacks)
	}
}

// linkOfAnotherNode writes a link as the other nodes do: clients get none that ends
// so soon.
func linkOfAnotherNode(t *testing.T, store persistence.Store, token, object string, ttl time.Duration) (secret string) {
	t.Helper()
	account, err := testAuth{}.Lookup(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	secret = "link_" + rand.Text()
	by, now := persistence.DigestOf(token), time.Now()
	b, err := json.Marshal(map[string]any{"account": account, "by": by[:], "object": object, "made": now, "expires": now.Add(ttl), "link": true})
	if err == nil {
		_, err = store.Put(t.Context(), persistence.Write{Key: fmt.Sprintf("ticket/%x", sha256.Sum256([]byte(secret))), Value: b, Expires: now.Add(ttl)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
