package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"troupe/persistence"
)

// The engine's codes for a write that found another revision than it expected, and for
// a write that is still in progress.
const (
	codeMismatch         jetstream.ErrorCode = 10071
	codeMismatchConstant jetstream.ErrorCode = 10164
	codeRepeatInProgress jetstream.ErrorCode = 10158
)

// errMismatch: the key's last change is not the expected one, or another change
// of it is just being stored.
var errMismatch = errors.New("another change came first")

// Put implements [persistence.Store].
func (s *Store) Put(ctx context.Context, w persistence.Write) (uint64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	err := persistence.CheckKey(w.Key)
	if err == nil {
		err = persistence.CheckValue(w.Key, w.Value)
	}
	if err != nil {
		return 0, err
	}
	c := change{key: w.Key, value: w.Value, expires: w.Expires}
	if w.If == nil {
		return s.store(ctx, c, nil)
	}
	return s.putIf(ctx, c, *w.If)
}

// Delete implements [persistence.Store].
func (s *Store) Delete(ctx context.Context, key string, revision *uint64, _ bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if persistence.CheckKey(key) != nil {
		if revision != nil {
			return persistence.ErrConflict
		}
		return nil
	}
	if revision != nil {
		if *revision == 0 {
			return persistence.ErrConflict // there is nothing to delete of that revision
		}
		_, err := s.putIf(ctx, change{key: key, deleted: true}, *revision)
		return err
	}
	for {
		c, err := s.last(ctx, key)
		if err != nil || !c.visible(time.Now()) {
			return err
		}
		if _, err = s.putIf(ctx, change{key: key, deleted: true}, c.seq); !errors.Is(err, persistence.ErrConflict) {
			return err
		}
	}
}

// putIf stores a change if the record has a revision, zero for none.
//
// The engine compares with the key's last change, which may be a deletion or
// have expired; and it refuses while another change of the key is on its way,
// whatever becomes of that. So what it refuses is looked at before it is called
// a conflict.
func (s *Store) putIf(ctx context.Context, c change, revision uint64) (uint64, error) {
	if revision > 0 {
		met, known := s.known(c.key)
		if !known || met.seq < revision {
			read, err := s.last(ctx, c.key)
			if err != nil {
				return 0, err
			}
			met = entry{seq: read.seq, live: !read.deleted, expires: read.expires}
		}
		if met.seq != revision || !met.visible(time.Now()) {
			return 0, persistence.ErrConflict
		}
	}
	expected := revision
	if revision == 0 {
		met, _ := s.known(c.key)
		if met.visible(time.Now()) {
			if read, err := s.last(ctx, c.key); err != nil || read.visible(time.Now()) {
				return 0, errors.Join(err, conflictUnless(err))
			}
		}
		expected = met.seq
	}
	c.write = nuid.Next()
	end := time.Now().Add(s.patience())
	for {
		seq, err := s.store(ctx, c, &expected)
		if !errors.Is(err, errMismatch) {
			return seq, err
		}
		met, err := s.last(ctx, c.key)
		switch {
		case err != nil:
			return 0, err
		case met.write == c.write: // a try without an answer
			return met.seq, nil
		case revision == 0 && met.visible(time.Now()):
			return 0, persistence.ErrConflict
		case revision == 0:
			expected = met.seq
		case met.seq > revision || met.seq == revision && !met.visible(time.Now()):
			return 0, persistence.ErrConflict
		}
		// Another change is on its way, or who answered is behind.
		if time.Now().After(end) {
			return 0, fmt.Errorf("%w: %w", persistence.ErrNoQuorum, errMismatch)
		}
		pause(ctx, time.Millisecond+rand.N(4*time.Millisecond))
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
}

func conflictUnless(err error) error {
	if err != nil {
		return nil
	}
	return persistence.ErrConflict
}

// store publishes a change and returns its revision. While there is no leader it
// repeats the same message, which has a name: it is stored once.
func (s *Store) store(ctx context.Context, c change, expected *uint64) (uint64, error) {
	m := nats.NewMsg(RecordSubject(c.key))
	m.Data = c.value
	if c.write == "" {
		c.write = nuid.Next()
	}
	m.Header.Set(WriteHeader, c.write)
	m.Header.Set(jetstream.MsgIDHeader, c.write)
	if c.deleted {
		m.Header.Set(DeletedHeader, "1")
	}
	if !c.expires.IsZero() {
		m.Header.Set(ExpiresHeader, strconv.FormatInt(nanoseconds(c.expires), 10))
	}
	if expected != nil {
		n := strconv.FormatUint(*expected, 10)
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, n)
		m.Header.Set(jetstream.MsgIDHeader, c.write+"-"+n)
	}
	seq, err := s.send(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("write %q: %w", c.key, err)
	}
	if s.attached {
		c.seq = seq
		s.recent.note(c)
	}
	return seq, nil
}

// beat stores a message that is no record: once it comes by, so has everything
// before it.
func (s *Store) beat(ctx context.Context) (uint64, error) {
	m := nats.NewMsg(beatSubjects + s.member.Name())
	m.Header.Set(jetstream.MsgIDHeader, nuid.Next())
	return s.send(ctx, m)
}

// send repeats a message until it is stored, or refused for good.
func (s *Store) send(ctx context.Context, m *nats.Msg) (uint64, error) {
	var seq uint64
	var refused error
	err := s.untilAnswered(ctx, func(try context.Context) error {
		ack, err := s.publisher.publish(try, m)
		var api *jetstream.APIError
		switch {
		case err == nil:
			seq = ack.Sequence
			return nil
		case errors.As(err, &api) && (api.ErrorCode == codeMismatch || api.ErrorCode == codeMismatchConstant):
			refused = errMismatch
			return nil
		case errors.Is(err, nats.ErrMaxPayload):
			refused = err
			return nil
		}
		return err
	})
	return seq, errors.Join(err, refused)
}

// nanoseconds gives a time that a header can hold.
func nanoseconds(t time.Time) int64 {
	if t.Year() > 2200 {
		return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	return max(t.UnixNano(), 1)
}
