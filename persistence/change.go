package persistence

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// change is a write, a deletion or an addition before it is decided. Every
// store decides changes one at a time, with the same function.
type change struct {
	kind    kind
	key     string
	value   []byte
	expires int64   // see stamp
	only    *uint64 // the revision that the record must have
	delta   int64
	limit   int64
	durable bool
	known   Known
}

type kind uint8

const (
	put kind = iota
	remove
	add
	expire // remove what has expired
)

// current is the record that a change meets; a nil one is not there, or has
// expired.
type current struct {
	value    []byte
	revision uint64
	expires  int64
}

// decision is what a change does: nothing, setting the record, or dropping it.
type decision struct {
	set, drop bool
	value     []byte
	expires   int64
	total     int64
	ok        bool
	err       error
}

func putting(w Write) (change, error) {
	if err := CheckKey(w.Key); err != nil {
		return change{}, err
	}
	if err := CheckValue(w.Key, w.Value); err != nil {
		return change{}, err
	}
	c := change{kind: put, key: w.Key, value: append([]byte(nil), w.Value...), expires: stamp(w.Expires), durable: w.Durable, known: w.Known}
	if w.If != nil {
		only := *w.If
		c.only = &only
	}
	return c, nil
}

func removing(key string, revision *uint64, durable bool) change {
	c := change{kind: remove, key: key, durable: durable}
	if revision != nil {
		only := *revision
		c.only = &only
	}
	return c
}

func adding(key string, delta, limit int64, expires time.Time) (change, error) {
	return change{kind: add, key: key, delta: delta, limit: limit, expires: stamp(expires)}, CheckKey(key)
}

// CheckKey reports a key that no store keeps.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("use a key of %d bytes: %w", len(key), ErrTooLarge)
	}
	return nil
}

// CheckValue reports a value that no store keeps.
func CheckValue(key string, value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("write %d bytes to %q: %w", len(value), key, ErrTooLarge)
	}
	return nil
}

// decide says what the change does to the record that is there.
func (c *change) decide(cur *current) decision {
	switch c.kind {
	case put:
		if !c.allowed(cur) {
			return decision{err: ErrConflict}
		}
		return decision{set: true, value: c.value, expires: c.expires}
	case remove:
		if c.only != nil && (cur == nil || cur.revision != *c.only) {
			return decision{err: ErrConflict}
		}
		return decision{drop: cur != nil}
	case add:
		return c.sum(cur)
	}
	return decision{}
}

// allowed reports whether a conditional write finds what it wants.
func (c *change) allowed(cur *current) bool {
	switch {
	case c.only == nil:
		return true
	case *c.only == 0:
		return cur == nil
	default:
		return cur != nil && cur.revision == *c.only
	}
}

// sum decides an addition.
func (c *change) sum(cur *current) decision {
	var old []byte
	if cur != nil {
		old = cur.value
	}
	t, err := Sum(c.key, old, c.delta, c.limit)
	if err != nil || !t.Changes {
		return decision{err: err, total: t.Total, ok: t.OK}
	}
	return decision{set: true, value: strconv.AppendInt(nil, t.Total, 10), expires: c.expires, total: t.Total, ok: true}
}

// Total is the result of an addition to a counter.
type Total struct {
	Total   int64
	OK      bool // it keeps to the limit
	Changes bool // the counter has to be written
}

// Sum decides an addition for every store, by the rules of [Store]. Value is the
// content of the counter's record, or nil without one.
func Sum(key string, value []byte, delta, limit int64) (Total, error) {
	var total int64
	if value != nil {
		var err error
		if total, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			return Total{}, fmt.Errorf("add to %q, which is no counter: %w", key, err)
		}
	}
	if delta == 0 {
		return Total{Total: total, OK: limit <= 0 || total <= limit}, nil
	}
	next := total + delta
	if delta > 0 && next < total {
		next = math.MaxInt64
	}
	next = max(next, 0)
	if limit > 0 && next > limit {
		return Total{Total: total}, nil
	}
	return Total{Total: next, OK: true, Changes: true}, nil
}

// stamp gives a time as nanoseconds since the epoch, zero for never.
func stamp(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Year() > 2200: // what int64 cannot hold
		return math.MaxInt64
	}
	return max(t.UnixNano(), 1)
}

// unstamp is the reverse of stamp.
func unstamp(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// expired reports whether a stamp has passed.
func expired(n int64, now time.Time) bool { return n != 0 && n <= now.UnixNano() }
