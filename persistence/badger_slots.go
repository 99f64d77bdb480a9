package persistence

import (
	"container/heap"
	"encoding/binary"
	"time"
)

// slotWidth is how long keys that expire one after the other are kept together. They are
// looked at when the last of them has expired: readers look at the time themselves.
const slotWidth = 8 * time.Second

// slotChunk is how large the parts of a slot are.
const slotChunk = 16 << 10

// slots keeps keys with the time of their end, in little memory: each ended task has three
// for as long as its result is kept. A key costs its own length and two bytes.
type slots struct {
	ends slotEnds // of the slots, the first in front
	keys map[int64][][]byte
}

// add keeps a key until a time, and a little longer.
func (s *slots) add(at int64, key string) {
	end := (at/int64(slotWidth) + 1) * int64(slotWidth)
	chunks, there := s.keys[end]
	if !there {
		if s.keys == nil {
			s.keys = map[int64][][]byte{}
		}
		heap.Push(&s.ends, end)
	}
	last := len(chunks) - 1
	if size := len(key) + binary.MaxVarintLen16; last < 0 || cap(chunks[last])-len(chunks[last]) < size {
		first := min(max(4*size, 512), slotChunk) // most slots of a service with few tasks have few keys
		if last >= 0 {
			first = max(slotChunk, size)
		}
		chunks, last = append(chunks, make([]byte, 0, first)), last+1
	}
	chunks[last] = append(binary.AppendUvarint(chunks[last], uint64(len(key))), key...)
	s.keys[end] = chunks
}

// take takes a key whose slot is over.
func (s *slots) take(now int64) (key string, ok bool) {
	for len(s.ends) > 0 && s.ends[0] <= now {
		end := s.ends[0]
		chunks := s.keys[end]
		for len(chunks) > 0 && len(chunks[0]) == 0 {
			chunks[0], chunks = nil, chunks[1:]
		}
		if len(chunks) == 0 {
			heap.Pop(&s.ends)
			delete(s.keys, end)
			continue
		}
		n, size := binary.Uvarint(chunks[0])
		key = string(chunks[0][size : size+int(n)])
		chunks[0] = chunks[0][size+int(n):]
		s.keys[end] = chunks
		return key, true
	}
	return "", false
}

type slotEnds []int64

func (h slotEnds) Len() int           { return len(h) }
func (h slotEnds) Less(i, j int) bool { return h[i] < h[j] }
func (h slotEnds) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *slotEnds) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *slotEnds) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
