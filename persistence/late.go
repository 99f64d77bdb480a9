package persistence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Late is a store that can be started on a full disk. What a start writes while it is held
// (see [Late.Hold]), as the ends of tasks that were cut off, is kept in memory where the
// disk does not take it. Readers see it, and it is written as soon as there is room; until
// then the store takes no other writes. A process that ends before has acknowledged none of
// it, and the next start finds out the same again.
type Late struct {
	Store
	active atomic.Bool // it is held, or changes wait
	moves  atomic.Bool // some records had a revision before they were written

	mu       sync.RWMutex
	held     int
	closed   bool
	again    *time.Timer         // when it is tried to write what waits; nil: nothing waits
	changes  []Change            // wait to be written, in their order
	over     map[string]*current // what they leave; nil: no record
	revision uint64              // the last one that was given in memory
	moved    map[uint64]uint64   // from those to the revisions of the records that were written
}

// lateRevision is below all revisions that are given in memory, and above all others.
const lateRevision = 1 << 62

// Writing what waits is tried so often, and may take so long.
const (
	lateEvery  = time.Second
	lateWithin = time.Minute
)

// NewLate makes a [Late] of a store, which it closes.
func NewLate(s Store) *Late {
	return &Late{Store: s, over: map[string]*current{}, revision: lateRevision, moved: map[uint64]uint64{}}
}

// Hold keeps changes in memory that the disk does not take, until the function that it
// returns is called. Nothing may begin before that which must not happen twice.
func (l *Late) Hold() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held++
	l.active.Store(true)
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held--
		l.settle()
	})
}

// settle notes whether anything is left to do. The caller has the lock.
func (l *Late) settle() {
	l.active.Store(l.held > 0 || len(l.changes) > 0)
	if len(l.changes) > 0 && !l.closed && l.again == nil {
		l.again = time.AfterFunc(lateEvery, l.tryAgain)
	}
}

func (l *Late) tryAgain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = nil
	if !l.closed {
		_ = l.write()
		l.settle()
	}
}

// write writes what waits. The caller has the lock.
func (l *Late) write() error {
	if len(l.changes) == 0 {
		return nil
	}
	if err := blockedOf(l.Store); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateWithin)
	defer cancel()
	if err := Apply(ctx, l.Store, l.changes...); err != nil { // all of them again: they say what is to be there
		return err
	}
	for key, cur := range l.over {
		if cur == nil {
			continue
		}
		if r, err := l.Store.Get(ctx, key); err == nil {
			l.moved[cur.revision] = r.Revision
			l.moves.Store(true)
		}
	}
	l.changes = nil
	clear(l.over)
	l.settle()
	return nil
}

// blockedOf says why a store takes no writes now, as far as it knows.
func blockedOf(s Store) error {
	if b, ok := s.(interface{ Blocked() error }); ok {
		return b.Blocked()
	}
	return nil
}

// Blocked says why writes are refused now, or nil: see [Badger.Blocked].
func (l *Late) Blocked() error {
	if err := blockedOf(l.Store); err != nil || !l.active.Load() {
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.changes) > 0 {
		return fmt.Errorf("%w: changes of the start are still to be written", ErrFull)
	}
	return nil
}

// full reports whether a change was refused because nothing is written at the moment.
func full(err error) bool { return errors.Is(err, ErrFull) || errors.Is(err, ErrUnwritable) }

// change carries out a change: beneath, or in memory.
func (l *Late) change(ctx context.Context, c change, beneath func() error) (decision, uint64, error) {
	l.mu.RLock()
	held, waiting := l.held > 0, len(l.changes) > 0
	l.mu.RUnlock()
	if !waiting {
		if err := beneath(); !held || !full(err) {
			return decision{}, 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	waits := l.write()
	if len(l.changes) == 0 {
		if err := beneath(); l.held == 0 || !full(err) {
			return decision{}, 0, err
		}
	} else if _, over := l.over[c.key]; l.held == 0 && c.kind == remove && !over {
		return decision{}, 0, beneath() // it may make room
	} else if l.held == 0 {
		return decision{}, 0, fmt.Errorf("write %q: %w", c.key, waits)
	}
	cur, err := l.current(ctx, c.key)
	if err != nil {
		return decision{}, 0, err
	}
	v := c.decide(cur)
	switch {
	case v.set:
		l.revision++
		l.over[c.key] = &current{value: v.value, revision: l.revision, expires: v.expires}
		l.changes = append(l.changes, Change{Write: Write{Key: c.key, Value: v.value, Expires: unstamp(v.expires), Durable: c.durable}})
	case v.drop:
		l.over[c.key] = nil
		l.changes = append(l.changes, Change{Write: Write{Key: c.key, Durable: c.durable}, Delete: true})
	default:
		return v, 0, v.err
	}
	return v, l.revision, nil
}

// current is the record that a change meets. The caller has the lock.
func (l *Late) current(ctx context.Context, key string) (*current, error) {
	if cur, over := l.over[key]; over {
		if cur == nil || expired(cur.expires, time.Now()) {
			return nil, nil
		}
		return cur, nil
	}
	r, err := l.Store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &current{value: r.Value, revision: r.Revision, expires: stamp(r.Expires)}, err
}

// known is the revision that a caller means.
func (l *Late) known(revision *uint64) *uint64 {
	if revision == nil || *revision <= lateRevision || !l.moves.Load() {
		return revision
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if now, there := l.moved[*revision]; there {
		return &now
	}
	return revision
}

// Get implements [Store].
func (l *Late) Get(ctx context.Context, key string) (Record, error) {
	if l.active.Load() {
		l.mu.RLock()
		defer l.mu.RUnlock()
		if cur, over := l.over[key]; over {
			switch {
			case ctx.Err() != nil:
				return Record{}, context.Cause(ctx)
			case cur == nil || expired(cur.expires, time.Now()):
				return Record{}, ErrNotFound
			}
			return cur.record(key), nil
		}
	}
	return l.Store.Get(ctx, key)
}

// List implements [Store].
func (l *Late) List(ctx context.Context, prefix string) ([]Record, error) {
	if l.active.Load() {
		l.mu.RLock()
		defer l.mu.RUnlock()
	}
	list, err := l.Store.List(ctx, prefix)
	if err != nil || !l.active.Load() || len(l.over) == 0 {
		return list, err
	}
	list = slices.DeleteFunc(list, func(r Record) bool { _, over := l.over[r.Key]; return over })
	l.each(prefix, func(key string, cur *current) { list = append(list, cur.record(key)) })
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.Key, b.Key) })
	return list, nil
}

// Keys implements [Store].
func (l *Late) Keys(ctx context.Context, prefix, after string, most int) ([]KeySize, error) {
	if !l.active.Load() {
		return l.Store.Keys(ctx, prefix, after, most)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	list, err := l.Store.Keys(ctx, prefix, after, most+len(l.over))
	if err != nil || len(l.over) == 0 {
		return list, err
	}
	list = slices.DeleteFunc(list, func(k KeySize) bool { _, over := l.over[k.Key]; return over })
	l.each(prefix, func(key string, cur *current) {
		if key > after {
			list = append(list, KeySize{key, len(cur.value), unstamp(cur.expires)})
		}
	})
	slices.SortFunc(list, func(a, b KeySize) int { return cmp.Compare(a.Key, b.Key) })
	return list[:min(len(list), most)], nil
}

// each calls f for the records in memory. The caller has the lock.
func (l *Late) each(prefix string, f func(key string, cur *current)) {
	now := time.Now()
	for key, cur := range l.over {
		if cur != nil && strings.HasPrefix(key, prefix) && !expired(cur.expires, now) {
			f(key, cur)
		}
	}
}

// Put implements [Store].
func (l *Late) Put(ctx context.Context, w Write) (revision uint64, err error) {
	w.If = l.known(w.If)
	if !l.active.Load() {
		return l.Store.Put(ctx, w)
	}
	c, err := putting(w)
	if err != nil {
		return 0, err
	}
	beneath := func() (err error) { revision, err = l.Store.Put(ctx, w); return err }
	_, kept, err := l.change(ctx, c, beneath)
	return max(revision, kept), err
}

// Delete implements [Store].
func (l *Late) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	revision = l.known(revision)
	if !l.active.Load() {
		return l.Store.Delete(ctx, key, revision, durable)
	}
	beneath := func() error { return l.Store.Delete(ctx, key, revision, durable) }
	_, _, err := l.change(ctx, removing(key, revision, durable), beneath)
	return err
}

// Add implements [Store].
func (l *Late) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (total int64, ok bool, err error) {
	if !l.active.Load() {
		return l.Store.Add(ctx, key, delta, limit, expires)
	}
	c, err := adding(key, delta, limit, expires)
	if err != nil {
		return 0, false, err
	}
	done := false
	beneath := func() (err error) {
		total, ok, err = l.Store.Add(ctx, key, delta, limit, expires)
		done = err == nil
		return err
	}
	v, _, err := l.change(ctx, c, beneath)
	if done {
		return total, ok, err
	}
	return v.total, v.ok, err
}

// applyAll is [Apply].
func (l *Late) applyAll(ctx context.Context, changes []Change) error {
	if !l.active.Load() {
		return Apply(ctx, l.Store, l.knownAll(changes)...)
	}
	for _, c := range changes {
		var err error
		if c.Delete {
			err = l.Delete(ctx, c.Key, c.If, c.Durable)
		} else {
			_, err = l.Put(ctx, c.Write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyEach is [ApplyEach].
func (l *Late) applyEach(ctx context.Context, lists [][]Change, then func(i int, err error)) {
	if !l.active.Load() {
		all := make([][]Change, len(lists))
		for i, changes := range lists {
			all[i] = l.knownAll(changes)
		}
		ApplyEach(ctx, l.Store, all, then)
		return
	}
	for i, changes := range lists {
		then(i, l.applyAll(ctx, changes))
	}
}

func (l *Late) knownAll(changes []Change) []Change {
	if !l.moves.Load() {
		return changes
	}
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].If = l.known(changes[i].If)
	}
	return changes
}

// Close implements [Store]. What waits still is left to the next start.
func (l *Late) Close() error {
	l.mu.Lock()
	l.closed = true
	if l.again != nil {
		l.again.Stop()
	}
	if l.held == 0 {
		_ = l.write()
	}
	l.mu.Unlock()
	return l.Store.Close()
}
