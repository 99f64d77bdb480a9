package persistence

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence/sealed"
)

// maxLost bounds the keys that are remembered of records that cannot be opened. Further
// ones are not: so many are as bad as more.
const maxLost = 1 << 16

// note remembers whether a record could be opened.
func (s *Seal) note(key string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !failed:
		delete(s.lost, key)
	case s.lost[key]:
	case len(s.lost) < maxLost:
		if s.lost == nil {
			s.lost = map[string]bool{}
		}
		s.lost[key] = true
	}
}

// Unreadable counts the records that could not be opened, by what they hold. All kinds are
// in it.
func (s *Seal) Unreadable() map[string]int {
	all := map[string]int{}
	for _, k := range sealed.Kinds() {
		all[k.Holds] = 0
	}
	for _, key := range s.lostKeys() {
		if k, known := sealed.Of(key); known {
			all[k.Holds]++
		}
	}
	return all
}

// Lost are the keys below a prefix of records that could not be opened, as far as they were
// tried. Some may be gone.
func (s *Seal) Lost(prefix string) (keys []string) {
	for _, key := range s.lostKeys() {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Gone says that a record is there no more.
func (s *Seal) Gone(key string) { s.note(key, false) }

func (s *Seal) lostKeys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.lost))
}

// Times of [SealedRecords.Watch].
const (
	surveyAfter  = time.Minute // so that a start is not slower
	recheckEvery = time.Minute
)

// Watch looks for records that cannot be opened, once and all of them, and then again at
// those that it knows of, until ctx ends. It rests between its reads.
func (s SealedRecords) Watch(ctx context.Context, log zerolog.Logger) {
	wait := time.NewTimer(surveyAfter)
	defer wait.Stop()
	look := s.Survey
	for told := 0; ; {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		if err := look(ctx); err == nil {
			look = s.Recheck
		} else if ctx.Err() == nil {
			log.Warn().Err(err).Msg("it is not known which records cannot be opened")
		}
		if n := len(s.Seal.lostKeys()); n > told {
			log.Error().Any("records", s.Seal.Unreadable()).Msg("records cannot be opened with the present key: they are kept as they are")
		}
		told = len(s.Seal.lostKeys())
		wait.Reset(recheckEvery)
	}
}
