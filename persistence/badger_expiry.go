package persistence

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"time"

	"github.com/dgraph-io/badger/v4"

	"troupe/persistence/clock"
)

// deadline is a time at which a record should be looked at again.
type deadline struct {
	at   int64
	key  string
	once bool // no other one is to be expected for the key
}

// schedule knows when records expire. It holds one deadline for most keys: one
// whose record lives longer by then is put off, not followed at each write.
type schedule struct {
	heap  deadlines
	first map[string]int64 // the deadline that counts for a key
	slots slots            // deadlines of keys that have only one
}

func (s *schedule) add(d deadline) {
	if d.once && d.at != 0 {
		s.slots.add(d.at, d.key)
		return
	}
	if at, there := s.first[d.key]; d.at == 0 || there && at <= d.at {
		return
	}
	if s.first == nil {
		s.first = map[string]int64{}
	}
	s.first[d.key] = d.at
	heap.Push(&s.heap, d)
}

// take removes the deadlines that have passed and returns requests that look
// at their records.
func (s *schedule) take(now time.Time, most int) []*request {
	var rs []*request
	for len(s.heap) > 0 && len(rs) < most && expired(s.heap[0].at, now) {
		d := heap.Pop(&s.heap).(deadline)
		if s.first[d.key] != d.at {
			continue
		}
		delete(s.first, d.key)
		rs = append(rs, &request{change: change{kind: expire, key: d.key}})
	}
	for len(rs) < most {
		key, ok := s.slots.take(now.UnixNano())
		if !ok {
			break
		}
		rs = append(rs, &request{change: change{kind: expire, key: key}})
	}
	return rs
}

// wait is how long it is to the next deadline. It is never long, because the
// clock may be set.
func (s *schedule) wait(now time.Time) time.Duration {
	wait := clock.Look
	if len(s.heap) > 0 {
		wait = min(wait, unstamp(s.heap[0].at).Sub(now))
	}
	if len(s.slots.ends) > 0 {
		wait = min(wait, unstamp(s.slots.ends[0]).Sub(now))
	}
	return max(wait, 0)
}

type deadlines []deadline

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, j int) bool { return h[i].at < h[j].at }
func (h deadlines) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlines) Push(x any)        { *h = append(*h, x.(deadline)) }
func (h *deadlines) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = deadline{}
	*h = old[:len(old)-1]
	return last
}

// load reads what the writer needs to know of an opened database: how far
// revisions went, and what will expire. It counts the records by their kind.
func (b *Badger) load() (map[string]int64, error) {
	records := map[string]int64{}
	return records, b.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(boundKey))
		switch {
		case err == nil:
			err = item.Value(func(v []byte) error {
				if len(v) != 8 {
					return errors.New("the highest revision is not a number")
				}
				b.reserved = binary.BigEndian.Uint64(v)
				return nil
			})
		case errors.Is(err, badger.ErrKeyNotFound):
			err = nil
		}
		if err != nil {
			return err
		}
		b.revision = b.reserved

		o := badger.DefaultIteratorOptions
		o.PrefetchValues = false
		o.Prefix = []byte(recordPrefix)
		it := txn.NewIterator(o)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			records[kindOf(string(item.Key()[len(recordPrefix):]))]++
			if item.ExpiresAt() != 0 {
				// Somewhat early: then the record itself says when.
				at := time.Unix(int64(item.ExpiresAt()), 0).Add(-collectAfter - 2*time.Second - slotWidth)
				b.due.add(deadline{at: stamp(at), key: string(item.Key()[len(recordPrefix):]), once: true})
			}
		}
		return nil
	})
}
