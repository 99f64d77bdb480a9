package store

import "slices"

// maxBlock is how many keys a block of [sortedKeys] has at most.
const maxBlock = 512

// sortedKeys are keys in order, in blocks: adding or removing one moves the keys of one
// block. None of the blocks is empty.
type sortedKeys struct{ blocks [][]string }

// block finds where a key is or would be.
func (s *sortedKeys) block(key string) int {
	at, found := slices.BinarySearchFunc(s.blocks, key, func(b []string, key string) int {
		switch {
		case b[0] < key:
			return -1
		case b[0] > key:
			return 1
		}
		return 0
	})
	if !found && at > 0 {
		at--
	}
	return at
}

func (s *sortedKeys) add(key string) {
	if len(s.blocks) == 0 {
		s.blocks = [][]string{{key}}
		return
	}
	i := s.block(key)
	at, there := slices.BinarySearch(s.blocks[i], key)
	if there {
		return
	}
	b := slices.Insert(s.blocks[i], at, key)
	if s.blocks[i] = b; len(b) > maxBlock {
		half := len(b) / 2
		if at == len(b)-1 { // keys that only grow leave full blocks behind them
			half = len(b) - 1
		}
		s.blocks[i] = slices.Clip(b[:half])
		s.blocks = slices.Insert(s.blocks, i+1, slices.Clone(b[half:]))
	}
}

func (s *sortedKeys) remove(key string) {
	if len(s.blocks) == 0 {
		return
	}
	i := s.block(key)
	at, there := slices.BinarySearch(s.blocks[i], key)
	if !there {
		return
	}
	if s.blocks[i] = slices.Delete(s.blocks[i], at, at+1); len(s.blocks[i]) == 0 {
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// from calls f with the keys from one on, until it returns false.
func (s *sortedKeys) from(key string, f func(string) bool) {
	if len(s.blocks) == 0 {
		return
	}
	for i, first := s.block(key), true; i < len(s.blocks); i, first = i+1, false {
		b := s.blocks[i]
		if first {
			at, _ := slices.BinarySearch(b, key)
			b = b[at:]
		}
		for _, k := range b {
			if !f(k) {
				return
			}
		}
	}
}
