package persistence

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is a Store that forgets everything when it is closed. It owns no
// goroutine, so it can live in a bubble of testing/synctest.
type memory struct {
	mu       sync.Mutex
	records  map[string]current
	revision uint64
	hub      Hub
	closed   bool
	wake     *time.Timer // removes what has expired
	wakes    int64       // the stamp that wake is set to; zero: not set
}

// NewMemory returns a Store in memory: for tests, and for runs that keep
// nothing.
func NewMemory() Store { return &memory{records: map[string]current{}} }

func (m *memory) Get(ctx context.Context, key string) (Record, error) {
	if err := m.enter(ctx); err != nil {
		return Record{}, err
	}
	defer m.mu.Unlock()
	cur, ok := m.records[key]
	if !ok || expired(cur.expires, time.Now()) {
		return Record{}, ErrNotFound
	}
	return cur.record(key), nil
}

func (m *memory) List(ctx context.Context, prefix string) ([]Record, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	now := time.Now()
	var list []Record
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		if cur := m.records[key]; strings.HasPrefix(key, prefix) && !expired(cur.expires, now) {
			list = append(list, cur.record(key))
		}
	}
	return list, nil
}

func (m *memory) Keys(ctx context.Context, prefix, after string, most int) ([]KeySize, error) {
	all, err := m.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var list []KeySize
	for _, r := range all {
		if r.Key > after && len(list) < most {
			list = append(list, KeySize{r.Key, len(r.Value), r.Expires})
		}
	}
	return list, nil
}

func (m *memory) Put(ctx context.Context, w Write) (uint64, error) {
	c, err := putting(w)
	if err != nil {
		return 0, err
	}
	_, revision, err := m.change(ctx, c)
	return revision, err
}

func (m *memory) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	_, _, err := m.change(ctx, removing(key, revision, durable))
	return err
}

func (m *memory) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	c, err := adding(key, delta, limit, expires)
	if err != nil {
		return 0, false, err
	}
	v, _, err := m.change(ctx, c)
	return v.total, v.ok, err
}

func (m *memory) Watch(ctx context.Context, prefix string) (<-chan Event, error) {
	return m.hub.Watch(ctx, prefix)
}

func (m *memory) Sync(ctx context.Context) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	m.mu.Unlock()
	return nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.wake != nil {
		m.wake.Stop()
	}
	m.hub.Close()
	return nil
}

// enter takes the lock if the store may be used.
func (m *memory) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// change decides a change and carries it out. Its error is the decision's, too.
func (m *memory) change(ctx context.Context, c change) (decision, uint64, error) {
	if err := m.enter(ctx); err != nil {
		return decision{}, 0, err
	}
	defer m.mu.Unlock()
	return m.carryOut(c)
}

// carryOut is change for who has the lock.
func (m *memory) carryOut(c change) (decision, uint64, error) {
	m.removeExpired(c.key, time.Now())
	var cur *current
	if r, ok := m.records[c.key]; ok {
		cur = &r
	}
	v := c.decide(cur)
	switch {
	case v.set:
		m.revision++
		r := current{value: v.value, revision: m.revision, expires: v.expires}
		m.records[c.key] = r
		m.hub.Publish([]Event{{Record: r.record(c.key)}})
		m.rouse(r.expires)
	case v.drop:
		m.drop(c.key)
	default:
		return v, 0, v.err
	}
	return v, m.revision, nil
}

// removeExpired removes a record that has expired.
func (m *memory) removeExpired(key string, now time.Time) {
	if r, ok := m.records[key]; ok && expired(r.expires, now) {
		m.drop(key)
	}
}

func (m *memory) drop(key string) {
	delete(m.records, key)
	m.revision++
	m.hub.Publish([]Event{{Record: Record{Key: key, Revision: m.revision}, Deleted: true}})
}

// rouse sees to it that what expires at the stamp is removed then.
func (m *memory) rouse(at int64) {
	if at == 0 || m.wakes != 0 && m.wakes <= at {
		return
	}
	if m.wake != nil {
		m.wake.Stop()
	}
	m.wakes = at
	m.wake = time.AfterFunc(time.Until(unstamp(at)), m.sweep)
}

// sweep removes all that has expired.
func (m *memory) sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.wakes = 0
	now := time.Now()
	for key := range m.records {
		m.removeExpired(key, now)
	}
	for _, r := range m.records {
		m.rouse(r.expires)
	}
}

// record gives a copy to hand out.
func (c current) record(key string) Record {
	return Record{Key: key, Value: bytes.Clone(c.value), Revision: c.revision, Expires: unstamp(c.expires)}
}
