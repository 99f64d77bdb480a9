package backlog

import (
	"slices"
	"strings"

	"troupe/persistence/clock"
)

// maxWindow is how many keys of a lane are read at once, and about how many are kept. An
// account may have a thousand groups, but a lane without a group has all workers.
const (
	maxWindow    = 32
	maxUngrouped = 256
)

func (l *lane) most() int {
	if l.Group == "" {
		return maxUngrouped
	}
	return maxWindow
}

// maxHeld is how many tasks of a lane may be put back before the lane stands still.
const maxHeld = 64

type item struct {
	key   string
	bytes int64
	// begins is when it may begin, where that is not what its key says: the wall clock was
	// set back since the key was made. Nil: the key says it.
	begins *clock.Due
}

type heldItem struct {
	item
	until clock.Due
}

// lane is the beginning of a line of tasks.
type lane struct {
	Lane
	window []item // by key
	cursor string // the window has every key up to this one; behind it are others, unless the lane is whole
	taken  string // no key behind this one was ever taken: the cursor does not go back before it
	whole  bool
	held   []heldItem // were taken and put back, by key

	moved   bool            // a key of the window, or of late, does not say when its task begins
	adding  map[string]bool // keys that are being written
	loading bool
	stale   bool            // what is being read begins behind keys that were dropped meanwhile
	late    []item          // were added while keys were being read
	gone    map[string]bool // were removed: they are still being deleted, or may be among the keys that are being read
	deleted []string        // of those, the ones that are deleted by now
}

func compare(a, b string) int { return strings.Compare(a, b) }

// insert takes in a key that is on the disk.
func (l *lane) insert(it item) {
	switch {
	case it.key <= l.cursor:
		l.put(it)
		l.bound()
	case l.loading: // the keys that are being read may have it, or may not
		l.late = append(l.late, it)
	case l.whole && len(l.window) < l.most():
		l.put(it)
		l.cursor = it.key
	default:
		l.whole = false
	}
}

func (l *lane) put(it item) {
	l.moved = l.moved || it.begins != nil
	at, there := slices.BinarySearchFunc(l.window, it.key, func(o item, key string) int { return compare(o.key, key) })
	if !there {
		l.window = slices.Insert(l.window, at, it)
	}
}

// bound drops the end of a window that has become much too long, as it does where tasks are
// added that begin before others which were there: they are read again. Keys of tasks that run
// are on the disk, too, so it drops none up to the last one that was taken.
func (l *lane) bound() {
	if len(l.window) <= 2*l.most() {
		return
	}
	keep := l.most()
	for keep < len(l.window) && l.window[keep].key <= l.taken {
		keep++
	}
	if keep == len(l.window) {
		return
	}
	l.window = slices.Delete(l.window, keep, len(l.window))
	l.cursor, l.whole, l.stale = l.window[keep-1].key, false, l.loading
}

// has reports whether a key waits here, or is among those that are still to be read.
func (l *lane) has(key string) bool {
	is := func(it item) bool { return it.key == key }
	return l.adding[key] || key > l.cursor && (!l.whole || l.loading) || slices.ContainsFunc(l.window, is) || slices.ContainsFunc(l.late, is) ||
		slices.ContainsFunc(l.held, func(h heldItem) bool { return h.key == key })
}

// loaded takes in what was read of the disk.
func (l *lane) loaded(m Load, keys []Found, failed bool) {
	usable := !failed && !l.stale
	l.loading, l.stale = false, false
	late := l.late
	l.late = nil
	if usable {
		for _, k := range keys {
			l.cursor = max(l.cursor, k.Key)
			if !l.gone[k.Key] && !l.adding[k.Key] {
				l.put(item{k.Key, k.Size, k.Begins})
			}
		}
		l.whole = len(keys) < m.Most
	}
	for _, it := range late {
		if !l.gone[it.key] {
			l.insert(it)
		}
	}
	l.bound() // not before all that was read is there: the cursor says that nothing is left out
	for _, key := range l.deleted {
		delete(l.gone, key)
	}
	l.deleted = nil
}

// head is the task that would be next; false: none may begin now.
func (l *lane) head(at moment) (it item, ok bool) {
	for _, h := range l.held {
		if at.came(h.until) {
			it, ok = h.item, true
			break
		}
	}
	if len(l.held) >= maxHeld {
		return it, ok
	}
	for _, first := range l.window {
		if ok && it.key < first.key {
			return it, true
		}
		if at.mayBegin(first) {
			return first, true
		}
		if !l.moved { // then those behind it begin later
			break
		}
	}
	return it, ok
}

// take removes and returns the head.
func (l *lane) take(at moment) item {
	it, _ := l.head(at)
	l.drop(it.key)
	l.taken = max(l.taken, it.key)
	return it
}

func (l *lane) drop(key string) {
	l.window = slices.DeleteFunc(l.window, func(o item) bool { return o.key == key })
	l.held = slices.DeleteFunc(l.held, func(o heldItem) bool { return o.key == key })
	l.moved = l.moved && len(l.window) > 0
}

// remove drops a key that is about to be deleted.
func (l *lane) remove(key string) {
	l.drop(key)
	if l.gone == nil {
		l.gone = map[string]bool{}
	}
	l.gone[key] = true
}

// removed says that the key is deleted.
func (l *lane) removed(key string) {
	if l.loading {
		l.deleted = append(l.deleted, key)
	} else {
		delete(l.gone, key)
	}
}
