package store

import "time"

// A node that leads a stream and is cut off has changes in its log that the others never get.
// When it comes back, the engine takes them back one by one, each after a wait of seconds: the
// node that leads by then sends what follows them, which does not fit. Where that one has
// written down how far the stream is, and shortened its log, it sends this instead, and the
// other node is back with it at once. So that is done while a copy is away, and is at hand
// when it is back.

const (
	// shortenEvery is how often a log is shortened in the first time that a copy is away, and
	// shortenRest how often afterwards: what the copy has is old then.
	shortenEvery = 2 * time.Second
	shortenRest  = time.Minute
	shortenFirst = time.Minute
	// returnsFor is how long a copy that is reached again may still need it.
	returnsFor = 15 * time.Second
)

// absence is that of copies of one stream which this node leads.
type absence struct {
	since, seen time.Time // the first and the last time that one was away
	shortened   time.Time
}

// step takes in whether a copy is away, or is there and misses changes. It reports whether to
// shorten the log now.
func (a absence) step(away, behind bool, now time.Time) (absence, bool) {
	switch {
	case away && a.since.IsZero():
		a = absence{since: now, seen: now}
	case away:
		a.seen = now
	case a.since.IsZero():
		return absence{}, false
	case !behind || now.Sub(a.seen) > returnsFor:
		return absence{}, false
	}
	every := shortenEvery
	if away && now.Sub(a.since) > shortenFirst {
		every = shortenRest
	}
	if now.Sub(a.shortened) < every {
		return a, false
	}
	a.shortened = now
	return a, true
}

// easeReturns shortens the logs of the streams that this node leads while copies are away.
func (s *Store) easeReturns(absent map[string]absence) {
	now, self, peers := time.Now(), s.member.Name(), s.member.Peers()
	for _, name := range s.groups.names() {
		a := s.groups.last(name)
		leads := a.group.Leader == self && now.Sub(a.at) <= answeredFor
		away, behind := false, false
		for _, c := range a.group.seenFrom(self, peers).Copies {
			away = away || leads && !c.Reached
			behind = behind || leads && c.Lag > 0
		}
		next, shorten := absent[name].step(away, behind, now)
		absent[name] = next
		if !shorten {
			continue
		}
		if err := s.member.ShortenLog(name); err != nil { // often there is nothing new, or a copy is being brought up to date
			s.log.Debug().Err(err).Str("stream", name).Msg("the log of a stream was not shortened")
		}
	}
}
