package store

import "sync"

// maxRecent bounds what a worker node remembers of keys that it has read or written.
const maxRecent = 8192

// recent is what a worker node knows of keys without a copy: their last changes, of those
// that it has just read or written. A conditional write finds out whether that is still
// so; this only saves it the question beforehand.
type recent struct {
	mu    sync.Mutex
	of    map[string]entry
	order []string // the keys, the oldest first
}

func newRecent() *recent { return &recent{of: map[string]entry{}} }

// note takes in a change of a key. Values are not kept.
func (r *recent) note(c change) {
	if c.seq == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	had, known := r.of[c.key]
	switch {
	case known && had.seq > c.seq:
		return
	case !known:
		r.order = append(r.order, c.key)
	}
	r.of[c.key] = entry{seq: c.seq, live: !c.deleted, expires: c.expires}
	for len(r.order) > maxRecent {
		delete(r.of, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recent) last(key string) (entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.of[key]
	return e, known
}

// known is what this node knows of a key's last change, without asking.
func (s *Store) known(key string) (entry, bool) {
	if s.attached {
		return s.recent.last(key)
	}
	return s.index.last(key)
}
