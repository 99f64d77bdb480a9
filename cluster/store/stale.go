package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A node that led the stream and was frozen or cut off goes on to think so for
// a moment, and would answer its own reads with what was true before. It can
// tell that this may be: its pulse stood still, or it sees no majority. While it
// may be, every read is confirmed by a majority.
const (
	pulse      = 250 * time.Millisecond
	standstill = 4 * pulse
	// confirmFor is how long reads are confirmed after that. A replaced leader learns
	// it at once; one that is cut off gives up after ten seconds.
	confirmFor = 15 * time.Second
)

// keepPulse keeps the pulse until ctx ends.
func (s *Store) keepPulse(ctx context.Context) {
	s.pulse.Store(time.Since(s.opened).Nanoseconds())
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, pulse)
		s.noteStandstill()
		s.pulse.Store(time.Since(s.opened).Nanoseconds())
		if n%2 == 0 && !s.member.Majority() {
			s.staleAt.Store(time.Since(s.opened).Nanoseconds())
		}
	}
}

// noteStandstill notes it where the pulse stood still until now.
func (s *Store) noteStandstill() {
	now := time.Since(s.opened).Nanoseconds()
	if now-s.pulse.Load() > standstill.Nanoseconds() {
		s.staleAt.Store(now)
	}
}

// maybeStale reports whether reads have to be confirmed.
func (s *Store) maybeStale() bool {
	if s.attached { // it leads nothing
		return false
	}
	s.noteStandstill()
	at := s.staleAt.Load()
	return at > 0 && time.Since(s.opened).Nanoseconds()-at < confirmFor.Nanoseconds()
}

// errStale: what was read was not the key's last change.
var errStale = errors.New("the value that was read is not the newest")

// confirm has a majority agree that a change is a key's last: it stores a beat
// on that condition.
func (s *Store) confirm(ctx context.Context, c change) error {
	m := nats.NewMsg(beatSubjects + s.member.Name())
	m.Header.Set(jetstream.MsgIDHeader, nuid.Next())
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(c.seq, 10))
	m.Header.Set(jetstream.ExpectedLastSubjSeqSubjHeader, RecordSubject(c.key))
	_, err := s.send(ctx, m)
	if errors.Is(err, errMismatch) {
		return errStale
	}
	return err
}
