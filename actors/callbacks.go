package actors

import "sync"

// callbacks holds functions of callers, which messages cannot hold because they
// are plain data: those that remove a task's files, and those that are asked
// before it begins. Messages carry their numbers; 0 is none.
type callbacks[F any] struct {
	mu   sync.Mutex
	last uint64
	all  map[uint64]F
}

func (l *callbacks[F]) add(f F) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[uint64]F{}
	}
	l.last++
	l.all[l.last] = f
	return l.last
}

// get returns a function that may have been taken.
func (l *callbacks[F]) get(n uint64) (f F, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, there = l.all[n]
	return f, there
}

// take removes a function and returns it to one caller; false: another caller has
// it.
func (l *callbacks[F]) take(n uint64) (f F, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, there = l.all[n]
	delete(l.all, n)
	return f, there
}

// takeAll removes and returns all that is left.
func (l *callbacks[F]) takeAll() (all []F) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, f := range l.all {
		all = append(all, f)
		delete(l.all, n)
	}
	return all
}

// cleanUpFiles removes the files of a task, outside of the mailbox.
func (n *nodeParts) cleanUpFiles(files uint64) {
	if free, there := n.fileCleanups.take(files); there {
		n.background.Go(func() { n.runCleanup(free) })
	}
}

func (n *nodeParts) runCleanup(free func()) {
	if err := protect(func() error { free(); return nil }); err != nil {
		n.log.Error().Err(err).Msg("files of a task not removed")
	}
}
