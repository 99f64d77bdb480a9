package store

import (
	"bytes"
	"container/heap"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/persistence"
)

// maxCached is how large a value may be to be kept in memory on every node,
// where nobody asked for that key to be.
const maxCached = 1 << 10

// entry is what this node knows of a key.
type entry struct {
	seq     uint64 // of the last change that was heard of
	live    bool   // false: it was deleted, and the change is still stored
	kept    bool   // value holds what the record does
	value   []byte
	expires time.Time

	older      int // changes below the last one that are still stored
	olderBytes int
	size       int
}

func (e *entry) record(key string) persistence.Record {
	return persistence.Record{Key: key, Value: bytes.Clone(e.value), Revision: e.seq, Expires: e.expires}
}

// visible reports whether readers see the record.
func (e *entry) visible(now time.Time) bool {
	return e != nil && e.live && (e.expires.IsZero() || now.Before(e.expires))
}

// index is a node's copy of the store, by the changes that it has received: every key,
// and the values that are small or hot.
type index struct {
	mu       sync.Mutex
	shards   map[string]map[string]*entry // by the key's first part
	order    map[string]*sortedKeys       // their keys
	hot      []string
	position uint64        // every change up to this one has arrived
	moved    chan struct{} // closed when position grows
	live     bool          // position counts: it is not being built anew
	due      dueHeap       // records that expire, and what can be tidied away
	looks    time.Time     // when the sweep looks again; zero: nobody knows
	sooner   chan struct{} // lets it look before that
}

func newIndex(hot []string) *index {
	x := &index{hot: hot, sooner: make(chan struct{}, 1)}
	x.reset()
	return x
}

// reset forgets everything. Callers that wait for a position keep waiting.
func (x *index) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shards, x.order, x.due, x.live, x.position = map[string]map[string]*entry{}, map[string]*sortedKeys{}, nil, false, 0
	if x.moved == nil {
		x.moved = make(chan struct{})
	}
}

func firstPart(key string) string {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i+1]
	}
	return ""
}

// find returns what is known of a key. The caller holds the lock.
func (x *index) find(key string) *entry { return x.shards[firstPart(key)][key] }

// last returns a copy of what is known of a key.
func (x *index) last(key string) (entry, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.find(key); e != nil {
		return *e, true
	}
	return entry{}, false
}

func (x *index) keeps(key string, size int) bool {
	if size <= maxCached {
		return true
	}
	for _, p := range x.hot {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// apply takes a change in, and returns the event that it is to watchers, if it
// is one.
func (x *index) apply(c change) (persistence.Event, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.find(c.key)
	if e == nil {
		e = &entry{}
		part := firstPart(c.key)
		if x.shards[part] == nil {
			x.shards[part], x.order[part] = map[string]*entry{}, &sortedKeys{}
		}
		x.shards[part][c.key] = e
		x.order[part].add(c.key)
	}
	if c.seq <= e.seq {
		return persistence.Event{}, false
	}
	was := e.live
	if e.seq > 0 {
		e.older++
		e.olderBytes += e.size
	}
	e.seq, e.live, e.expires, e.size = c.seq, !c.deleted, c.expires, len(c.value)
	e.value, e.kept = nil, false
	event := persistence.Event{Record: persistence.Record{Key: c.key, Revision: c.seq}, Deleted: c.deleted}
	if c.deleted {
		x.later(due{at: time.Now().Add(tidyAfter), key: c.key, seq: c.seq, tidy: true})
		return event, was
	}
	if x.keeps(c.key, len(c.value)) {
		e.value, e.kept = bytes.Clone(c.value), true
	}
	if e.older >= maxOlder || e.olderBytes >= olderMostBytes {
		e.older, e.olderBytes = 0, 0
		x.later(due{at: time.Now().Add(tidyAfter), key: c.key, seq: c.seq, tidy: true})
	}
	if !c.expires.IsZero() {
		x.later(due{at: c.expires, key: c.key, seq: c.seq})
	}
	event.Value, event.Expires = c.value, c.expires
	return event, true
}

// forget drops a deleted key whose last change is not stored any more.
func (x *index) forget(key string, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.find(key); e != nil && !e.live && e.seq == seq {
		part := firstPart(key)
		delete(x.shards[part], key)
		x.order[part].remove(key)
	}
}

// advance moves the position on.
func (x *index) advance(to uint64, live bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.position, x.live = to, live
	close(x.moved)
	x.moved = make(chan struct{})
}

// reached reports whether every change up to a revision was heard of, and
// otherwise what to wait for.
func (x *index) reached(seq uint64) (bool, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.live && x.position >= seq, x.moved
}

// at is up to where changes were heard of.
func (x *index) at() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.position
}

// found is a record of a list: one that is not kept has to be read.
type found struct {
	persistence.Record
	kept bool
}

// list returns the records below a prefix that readers see, in no order.
func (x *index) list(prefix string) []found {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	var all []found
	from := func(shard map[string]*entry) {
		for key, e := range shard {
			if strings.HasPrefix(key, prefix) && e.visible(now) {
				all = append(all, found{e.record(key), e.kept})
			}
		}
	}
	if part := firstPart(prefix); part != "" {
		from(x.shards[part])
		return all
	}
	for _, shard := range x.shards {
		from(shard)
	}
	return all
}

// keys returns the keys that begin with a prefix and come behind a key, in order and up to
// so many.
func (x *index) keys(prefix, after string, most int) (all []persistence.KeySize) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now, from := time.Now(), max(prefix, after)
	in := func(part string) {
		shard, n := x.shards[part], 0
		x.order[part].from(from, func(key string) bool {
			if !strings.HasPrefix(key, prefix) || n == most {
				return false
			}
			if e := shard[key]; key != after && e.visible(now) {
				all = append(all, persistence.KeySize{Key: key, Size: e.size, Expires: e.expires})
				n++
			}
			return true
		})
	}
	if part := firstPart(prefix); part != "" {
		if x.shards[part] != nil {
			in(part)
		}
		return all
	}
	for part := range x.shards {
		in(part)
	}
	slices.SortFunc(all, func(a, b persistence.KeySize) int { return strings.Compare(a.Key, b.Key) })
	return all[:min(len(all), most)]
}

// complete returns the records below a prefix, and whether the list is complete: none is
// too large for memory, and the index is not being rebuilt.
func (x *index) complete(prefix string) ([]persistence.Record, bool) {
	all := x.list(prefix)
	records := make([]persistence.Record, 0, len(all))
	for _, f := range all {
		if !f.kept {
			return nil, false
		}
		records = append(records, f.Record)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return records, x.live
}

// due is something to be done about a key when its time has come: a record that
// expires, or changes that nobody needs any more.
type due struct {
	at     time.Time
	key    string
	seq    uint64
	tidy   bool
	waited bool // for another node to do it
}

// later notes what is due. The caller holds the lock.
func (x *index) later(d due) {
	heap.Push(&x.due, d)
	if d.at.Before(x.looks) {
		select {
		case x.sooner <- struct{}{}:
		default:
		}
	}
}

// again notes what could not be done.
func (x *index) again(d due) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.later(d)
}

// take returns what is due now and still counts, and when to look again.
func (x *index) take(now time.Time, most int) (all []due, next time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer func() { x.looks = next }()
	next = now.Add(sweepAtLeast)
	for len(x.due) > 0 && len(all) < most {
		if now.Before(x.due[0].at) {
			return all, earlier(next, x.due[0].at)
		}
		d := heap.Pop(&x.due).(due)
		if e := x.find(d.key); e != nil && (d.tidy || e.seq == d.seq) {
			all = append(all, d)
		}
	}
	if len(x.due) > 0 {
		next = now
	}
	return all, next
}

type dueHeap []due

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(d any)        { *h = append(*h, d.(due)) }
func (h *dueHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	*h = old[:len(old)-1]
	return d
}
