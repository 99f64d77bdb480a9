package persistence

import (
	"maps"
	"slices"

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

func (s *Seal) lostKeys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.lost))
}
