package link

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit/wait"
)

// twoWires are those of two nodes that hear each other.
func twoWires(t *testing.T) (a, b *Transport) {
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, MaxPayload: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	of := func(node string) *Transport {
		nc, err := nats.Connect("", nats.InProcessServer(s))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return NewTransport(nc, node, zerolog.Nop())
	}
	return of("n1"), of("n2")
}

// TestPayloadsGoWhenTheyWereFetched: an answer of megabytes is not kept for longer
// than it is wanted, and what is not whole is an error.
func TestPayloadsGoWhenTheyWereFetched(t *testing.T) {
	t.Parallel()
	a, b := twoWires(t)
	data := make([]byte, 5*pieceSize+17)
	_, _ = rand.Read(data)
	quoted := []byte(`"` + strings.Repeat("x", 3<<20) + `"`)
	stop, err := b.Serve(func(any) Reply {
		return Reply{Make: func() any {
			return &api.Executed{TaskID: "t", Outcome: &engine.Outcome{End: engine.EndCompleted, Data: quoted}}
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := b.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	x, err := AskFor[api.Executed](ctx, a, "n2", &LocateSession{})
	if err != nil || !bytes.Equal(x.Outcome.Data, quoted) {
		t.Fatalf("a large answer: %v", err)
	}
	waiting := func() int {
		b.out.mu.Lock()
		defer b.out.mu.Unlock()
		return len(b.out.has)
	}
	wait.Until(t, "no answer waits any more", func() bool { return waiting() == 0 })

	// What belongs to a request stays as long as that.
	p := b.out.put(bytesIn(data), int64(len(data)), 0)
	for range 2 {
		if got, err := a.fetch(ctx, p); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(data), err)
		}
	}
	for name, wrong := range map[string]PayloadRef{
		"more than there is": {"n2", p.ID, p.Size + 1},
		"one that is not":    {"n2", "nothing", 10},
		"a huge one":         {"n2", p.ID, maxMessage + 1},
	} {
		if _, err := a.fetch(ctx, wrong); err == nil {
			t.Errorf("%s was fetched", name)
		}
	}
	b.out.remove(p.ID)
	if _, err := a.fetch(ctx, p); err == nil || !strings.Contains(err.Error(), errNoPayload.Error()) {
		t.Errorf("a payload that was removed: %v", err)
	}
	if _, err := a.Ask(ctx, "n3", &LocateSession{}); !errors.Is(err, ErrUndelivered) {
		t.Errorf("a node that is not there: %v", err)
	}
	big := &ForwardedExecute{Source: make([]byte, maxInline)}
	if _, err := a.Ask(ctx, "n2", big); err == nil {
		t.Error("a message above the limit was sent")
	}
}
