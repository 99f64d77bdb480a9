package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/cluster/member"
	"troupe/persistence"
)

// alone is a store of one node.
func alone(t *testing.T, hot ...string) *Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := member.Join(ctx, member.Config{Name: "n1", Dir: t.TempDir(), Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := Open(ctx, m, hot...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// After this process stood still, what a leader answers is believed only when a
// majority agrees that it is the newest.
func TestReadsAreConfirmedAfterAFreeze(t *testing.T) {
	t.Parallel()
	s, ctx := alone(t), t.Context()
	if _, err := s.Put(ctx, persistence.Write{Key: "k", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	old, err := s.read(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.confirm(ctx, old); err != nil {
		t.Fatalf("the newest is not confirmed: %v", err)
	}
	if err := s.confirm(ctx, change{key: "none"}); err != nil {
		t.Fatalf("that there is none is not confirmed: %v", err)
	}
	if _, err := s.Put(ctx, persistence.Write{Key: "k", Value: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	if err := s.confirm(ctx, old); !errors.Is(err, errStale) {
		t.Fatalf("what is old is confirmed: %v", err)
	}

	if s.maybeStale() {
		t.Fatal("in doubt without a reason")
	}
	s.pulse.Add(-standstill.Nanoseconds() - int64(time.Second)) // as if it had stood still for so long
	if !s.maybeStale() {
		t.Fatal("a pulse that stood still goes unnoticed")
	}
	before, err := s.lastSeq(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(ctx, "k"); err != nil || string(r.Value) != "2" {
		t.Fatalf("Get in doubt = %q, %v", r.Value, err)
	}
	after, err := s.lastSeq(ctx)
	if err != nil || after <= before {
		t.Fatalf("a read in doubt was not confirmed: the store stands at %d, was at %d; %v", after, before, err)
	}
	if list, err := s.List(ctx, "k"); err != nil || len(list) != 1 {
		t.Fatalf("List in doubt: %v, %v", list, err)
	}
}

// lateStream is a leader that has just been elected: it answers its first reads without the
// last changes.
type lateStream struct {
	jetstream.Stream
	late atomic.Int32
}

func (l *lateStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if l.late.Add(-1) >= 0 {
		return nil, jetstream.ErrMsgNotFound
	}
	return l.Stream.GetLastMsgForSubject(ctx, subject)
}

// What a node has heard of is not gone because a new leader has not.
func TestReadsAreNotOlderThanWhatWasHeard(t *testing.T) {
	t.Parallel()
	s, ctx := alone(t), t.Context()
	seq, err := s.Put(ctx, persistence.Write{Key: "k", Value: make([]byte, 5*maxCached)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.caughtUp(ctx, seq); err != nil {
		t.Fatal(err)
	}
	l := &lateStream{Stream: s.stream}
	s.stream = l
	l.late.Store(3)
	if r, err := s.Get(ctx, "k"); err != nil || r.Revision != seq {
		t.Errorf("Get = revision %d, %v; want %d", r.Revision, err, seq)
	}
	l.late.Store(3)
	if list, err := s.List(ctx, "k"); err != nil || len(list) != 1 {
		t.Errorf("List = %d records, %v", len(list), err)
	}
	l.late.Store(1)
	if _, err := s.Get(ctx, "none"); !errors.Is(err, persistence.ErrNotFound) {
		t.Errorf("Get of what there is not: %v", err)
	}
}

// A node's copy answers without anybody else, with the values of hot prefixes
// whole.
func TestCopy(t *testing.T) {
	t.Parallel()
	s, ctx := alone(t, "token/"), t.Context()
	large := make([]byte, 5*maxCached)
	var last uint64
	for _, w := range []persistence.Write{
		{Key: "token/b", Value: large}, {Key: "token/a", Value: []byte("a")}, {Key: "small", Value: []byte("x")}, {Key: "other", Value: large},
		{Key: "token/old", Value: []byte("x"), Expires: time.Now().Add(-time.Second)},
	} {
		var err error
		if last, err = s.Put(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.caughtUp(ctx, last); err != nil {
		t.Fatal(err)
	}
	s.member.Conn().Close() // from here on nobody answers
	c := s.Copy()
	if r, err := c.Get("token/b"); err != nil || len(r.Value) != len(large) || r.Revision == 0 {
		t.Errorf("a large value of a hot prefix: %d bytes, %v", len(r.Value), err)
	}
	if r, err := c.Get("small"); err != nil || string(r.Value) != "x" {
		t.Errorf("a small value: %q, %v", r.Value, err)
	}
	for _, key := range []string{"other", "token/old", "none"} {
		if _, err := c.Get(key); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if list := c.List("token/"); len(list) != 2 || list[0].Key != "token/a" || list[1].Key != "token/b" {
		t.Errorf("List = %v", list)
	}
	if _, err := s.Get(ctx, "small"); !errors.Is(err, persistence.ErrClosed) {
		t.Errorf("the store itself answers without a connection: %v", err)
	}
}
